// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// That an object is in a member is told by the applier, and by the member. Once it is
// summed up, the second to tell of it costs neither a look at the other members' Works
// nor an event.
func TestWhatIsToldTwiceIsSummedUpOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   string
		before func(r *echo)
		sums   bool
	}{
		"the applier's word has been summed up":                             {before: (*echo).applied},
		"it has not been":                                                   {before: func(*echo) {}, sums: true},
		"it has been, and the binding changed since":                        {before: func(r *echo) { r.applied(); r.moves() }, sums: true},
		"it has been, and the Work says something else since":               {before: func(r *echo) { r.applied(); r.degrades() }, sums: true},
		"it has been, and the template's status may be still to be written": {kind: "Deployment", before: (*echo).applied, sums: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEcho(t, tt.kind)
			tt.before(r)
			r.asked = nil
			e, err := events.NewResource("m1", events.ResourceAdded, events.Object{TemplateKey: r.key, Cluster: "m1", Version: "1"})
			must(t, err)
			told := r.handle(e)
			asked := slices.Contains(r.asked, "m2")
			if asked != tt.sums || slices.Contains(told, events.TemplateReported) != tt.sums {
				t.Errorf("the other member's Work is read: %t, and it tells %v; want it summed up: %t", asked, told, tt.sums)
			}
		})
	}
}

// echo is a template in two members, whose objects the applier has applied.
type echo struct {
	t     *testing.T
	hub   *pipelinetest.Hub
	stage *reporter.Stage
	key   propagation.TemplateKey
	bound *propagation.Binding

	mu    sync.Mutex
	asked []string // of which members Works were read, which is done at once
}

func newEcho(t *testing.T, kind string) *echo {
	t.Helper()
	now := func() time.Time { return fixture.Start }
	r := &echo{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: now}), key: propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	if kind == "Deployment" {
		r.key.APIVersion, r.key.Kind = "apps/v1", kind
	}
	r.hub.Apply(r.key, func(map[string]any) {})
	b := &propagation.Binding{Key: propagation.BindingOf(r.key)}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: r.key.APIVersion, Kind: r.key.Kind, Namespace: "shop", Name: "settings", UID: r.hub.Live(r.key).UID}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}}
	var err error
	r.bound, err = r.hub.CommitBinding(t.Context(), nil, b)
	must(t, err)
	object := map[string]any{"apiVersion": r.key.APIVersion, "kind": r.key.Kind, "metadata": map[string]any{"namespace": "shop", "name": "settings"}}
	raw, err := json.Marshal(object)
	must(t, err)
	for _, c := range b.Spec.Clusters {
		must(t, r.hub.EnsureNamespace(t.Context(), propagation.WorkNamespace(c.Name)))
		w := &propagation.Work{Key: r.work(c.Name)}
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
		w, err = r.hub.CommitWork(t.Context(), nil, w)
		must(t, err)
		_, err = r.hub.CommitWorkStatus(t.Context(), w, workv1alpha1.WorkStatus{
			Applied:    &workv1alpha1.AppliedState{UID: "u"},
			Conditions: []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, ObservedGeneration: w.Generation, Reason: "AppliedSuccessful"}},
		})
		must(t, err)
	}
	r.stage = reporter.New(r.hub, func(context.Context, string) (reporter.Member, error) {
		return one{&member.Observed{UID: "u", Work: propagation.WorkName(b.Key), Partial: true, Object: object}}, nil
	}, now)
	r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
		for _, c := range b.Spec.Clusters {
			if q.About == r.work(c.Name).String() && !q.Writes() {
				r.mu.Lock()
				r.asked = append(r.asked, c.Name)
				r.mu.Unlock()
			}
		}
		return nil
	}
	// The first word of the member itself completes what its Work says.
	for _, c := range b.Spec.Clusters {
		e, err := events.NewResource(c.Name, events.ResourceAdded, events.Object{TemplateKey: r.key, Cluster: c.Name, Version: "1"})
		must(t, err)
		r.handle(e)
	}
	r.bound, err = r.hub.Binding(t.Context(), r.bound.Key)
	must(t, err)
	r.bound, err = r.hub.CommitBindingStatus(t.Context(), r.bound, workv1alpha2.ResourceBindingStatus{})
	must(t, err)
	return r
}

func (r *echo) work(cluster string) propagation.WorkKey {
	return propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(propagation.BindingOf(r.key))}
}

func (r *echo) handle(e event.Event) (told []string) {
	r.t.Helper()
	out, err := r.stage.Handle(r.t.Context(), e)
	must(r.t, err)
	for _, o := range out {
		told = append(told, o.Type())
	}
	return told
}

// applied has the applier's word summed up.
func (r *echo) applied() {
	r.t.Helper()
	key := r.work("m1")
	e, err := events.New("applier", event.New(), events.WorkApplied, events.Data{Template: &r.key, Binding: &r.bound.Key, Cluster: "m1", Work: &key})
	must(r.t, err)
	if told := r.handle(e); !slices.Contains(told, events.TemplateReported) {
		r.t.Fatalf("it is not summed up: %v", told)
	}
}

// moves changes the binding.
func (r *echo) moves() {
	r.t.Helper()
	b, err := r.hub.Binding(r.t.Context(), r.bound.Key)
	must(r.t, err)
	next := *b
	next.Spec.Replicas++
	_, err = r.hub.CommitBinding(r.t.Context(), b, &next)
	must(r.t, err)
}

// degrades has the Work say that its member does not have the object.
func (r *echo) degrades() {
	r.t.Helper()
	w, err := r.hub.Work(r.t.Context(), r.work("m1"))
	must(r.t, err)
	status := w.Status
	status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionFalse, ObservedGeneration: w.Generation, Reason: "AppliedFailed", Message: "refused"}}
	_, err = r.hub.CommitWorkStatus(r.t.Context(), w, status)
	must(r.t, err)
}
