// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"testing"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// done is a template that is propagated to m1 and m2, its binding and its Works.
type done struct {
	t     *propagation.Template
	b     *propagation.Binding
	works []*propagation.Work
}

func propagated(t *testing.T) *done {
	t.Helper()
	d := &done{
		t:     template(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, status: {replicas: 2}}`),
		b:     bound("m1", "m2"),
		works: []*propagation.Work{made("m1", applied), made("m2", applied)},
	}
	d.t.UID, d.b.Spec.Resource.UID = "u", "u"
	d.t.Claim = propagation.Claim{Policy: propagation.PolicyKey{Scope: propagation.Cluster, Name: "p"}, ID: "id"}
	d.b.Labels = map[string]string{propagation.ClaimLabelCluster: "id"}
	d.b.Annotations[propagation.ClaimClusterName] = "p"
	d.b.Annotations[propagation.AnnotationContentHash] = d.t.Hash
	live := object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, status: {replicas: 1, observedGeneration: 1}}`)
	for _, w := range d.works {
		w.Status.ManifestStatuses = WithStatus(nil, ManifestStatus(kinds.Table{}, 0, live, live))
	}
	d.report()
	return d
}

// report writes what the reporter would.
func (d *done) report() {
	d.b.Status = Summarize(d.b, d.works, noon)
	d.b.Status.SchedulerObservedGeneration = d.b.Generation
	total, _, _ := Aggregate(kinds.Table{}, d.t, d.b)
	d.t.Object["status"] = total
}

func TestComplete(t *testing.T) {
	if d := propagated(t); !Complete(kinds.Table{}, d.t, d.b, d.works) {
		t.Fatal("what is propagated and reported is not complete")
	}
	for name, change := range map[string]func(*done){
		"the template goes":                  func(d *done) { d.t.Deleting = true },
		"the binding goes":                   func(d *done) { d.b.Deleting = true },
		"the template was made anew":         func(d *done) { d.t.UID = "v" },
		"its content is another":             func(d *done) { d.t.Hash = "newer" },
		"nobody holds it":                    func(d *done) { d.t.Claim = propagation.Claim{} },
		"another policy holds it":            func(d *done) { d.t.Claim.Policy.Name = "q" },
		"the policy was made anew":           func(d *done) { d.t.Claim.ID = "id2" },
		"the binding waits for its template": func(d *done) { d.b.Spec.Resource.UID = "" },
		"others follow it":                   func(d *done) { d.b.Spec.PropagateDeps = true },
		"it follows others":                  func(d *done) { d.b.Labels[propagation.LabelLinked] = "true" },
		"it is not scheduled":                func(d *done) { d.b.Spec.Clusters, d.works = nil, nil; d.report() },
		"it shall go to a cluster more": func(d *done) {
			d.b.Spec.Clusters = append(d.b.Spec.Clusters, workv1alpha2.TargetCluster{Name: "m3"})
			d.report()
		},
		"it shall leave a cluster":                 func(d *done) { d.b.Spec.Clusters = d.b.Spec.Clusters[:1]; d.report() },
		"a Work is of an earlier content":          func(d *done) { outdated(d.works[0]); d.report() },
		"a Work goes":                              func(d *done) { going(d.works[0]); d.report() },
		"a member has an earlier form of it":       func(d *done) { d.works[0].Generation++; d.report() },
		"a Work is held back":                      func(d *done) { heldNow(d.works[0]); d.report() },
		"the binding was never summed up":          func(d *done) { d.b.Status = workv1alpha2.ResourceBindingStatus{} },
		"the binding was written since":            func(d *done) { d.b.Generation++ },
		"a member's word is not on the binding":    func(d *done) { d.works[0].Status.ManifestStatuses = nil },
		"the binding's word is not the template's": func(d *done) { d.t.Object["status"] = map[string]any{"replicas": 7} },
	} {
		t.Run(name, func(t *testing.T) {
			d := propagated(t)
			change(d)
			if Complete(kinds.Table{}, d.t, d.b, d.works) {
				t.Error("is complete")
			}
		})
	}
}
