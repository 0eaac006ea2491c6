// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/hub"
	"sluice.dev/test/pipelinetest/fixture"
)

// fleet are the hub's clusters in the tests of templates and policies.
var fleet = []string{"member1", "member2", "member3"}

// shop is a hub with the clusters of fleet.
func (a *api) shop() *api {
	for _, name := range fleet {
		a.put("cluster.karmada.io/v1alpha1/Cluster/"+name, cluster("https://"+name, name))
	}
	a.put("v1/ConfigMap/"+propagation.SystemNamespace+"/"+propagation.FeaturesName, map[string]any{})
	return a
}

func clusters() []*clusterv1alpha1.Cluster {
	var out []*clusterv1alpha1.Cluster
	for _, name := range fleet {
		out = append(out, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return out
}

// policy stores a policy.
func (a *api) policy(b fixture.PolicyBuilder) {
	p := b.Policy()
	label := propagation.ClaimLabelNamespaced
	if p.Key.Scope == propagation.Cluster {
		label = propagation.ClaimLabelCluster
	}
	about := hub.AboutPolicy(p)
	a.put(about.APIVersion+"/"+about.Kind+"/"+strings.TrimPrefix(p.Key.Namespace+"/", "/")+p.Key.Name, map[string]any{
		"metadata": map[string]any{
			"uid": p.UID, "generation": p.Generation, "labels": map[string]any{label: p.ID},
			"creationTimestamp": metav1.NewTime(p.LastUserWrite),
		},
		"spec": p.Spec,
	})
}

// template stores a template.
func (a *api) template(b fixture.TemplateBuilder) *propagation.Template {
	t := b.Template()
	object := maps.Clone(t.Object)
	a.put(t.Key.APIVersion+"/"+t.Key.Kind+"/"+strings.TrimPrefix(t.Key.Namespace+"/", "/")+t.Key.Name, object)
	return t
}

func bindingRef(k propagation.BindingKey) string {
	about := hub.AboutBinding(&propagation.Binding{Key: k})
	return about.APIVersion + "/" + about.Kind + "/" + strings.TrimPrefix(k.Namespace+"/", "/") + k.Name
}

func (a *api) binding(b *propagation.Binding) {
	a.put(bindingRef(b.Key), map[string]any{
		"metadata": map[string]any{"labels": b.Labels, "annotations": b.Annotations, "uid": "uid-" + b.Key.Name, "creationTimestamp": "2026-01-01T12:00:00Z"},
		"spec":     b.Spec, "status": b.Status,
	})
}

// propagated stores a template that the policy acted on, its binding, revision
// and Works, all of them applied.
func (a *api) propagated(tb fixture.TemplateBuilder, pb fixture.PolicyBuilder) *propagation.Binding {
	t := a.template(tb.ClaimedBy(pb))
	b := gating.Decide(gating.Input{Template: t, Policy: pb.Policy()}).Next
	b.Spec.Clusters = scheduling.Decide(scheduling.Input{Binding: b, Clusters: clusters()}).Targets
	for _, c := range b.Spec.Clusters {
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: c.Name, Applied: true, Health: workv1alpha2.ResourceHealthy})
		a.work(b, c.Name, metav1.ConditionTrue)
	}
	a.binding(b)
	a.revision(b, t, 1)
	return b
}

func (a *api) revision(b *propagation.Binding, t *propagation.Template, number int64) {
	content, err := json.Marshal(propagation.Content(t.Object))
	if err != nil {
		a.t.Fatal(err)
	}
	a.put("apps/v1/ControllerRevision/"+t.Key.Namespace+"/"+propagation.RevisionName(b.Key, t.Hash), map[string]any{
		"metadata": map[string]any{
			"labels":      map[string]any{propagation.LabelBinding: propagation.BindingLabel(b.Key)},
			"annotations": map[string]any{propagation.AnnotationContentHash: t.Hash}, "creationTimestamp": "2026-01-01T12:00:00Z",
		},
		"revision": number, "data": runtime.RawExtension{Raw: content},
	})
}

// work stores the Work of a cluster, applied or refused.
func (a *api) work(b *propagation.Binding, cluster string, applied metav1.ConditionStatus) {
	condition := metav1.Condition{Type: workv1alpha1.ConditionApplied, Status: applied, Reason: "RefusedByMember", Message: "quota exceeded", ObservedGeneration: 1}
	k := b.Template()
	manifest, err := json.Marshal(map[string]any{"apiVersion": k.APIVersion, "kind": k.Kind, "metadata": map[string]any{"namespace": k.Namespace, "name": k.Name}})
	if err != nil {
		a.t.Fatal(err)
	}
	template, err := json.Marshal(k)
	if err != nil {
		a.t.Fatal(err)
	}
	a.put("work.karmada.io/v1alpha1/Work/karmada-es-"+cluster+"/"+propagation.WorkName(b.Key), map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{propagation.AnnotationRevision: b.Revision(), propagation.AnnotationTemplate: string(template)}},
		"spec":     workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}}}},
		"status":   workv1alpha1.WorkStatus{Conditions: []metav1.Condition{condition}, ManifestStatuses: []workv1alpha1.ManifestStatus{{Health: workv1alpha1.ResourceHealthy}}},
	})
}

// gate plays the stages behind a request: they let the policy act, and every
// cluster has it at once.
func (a *api) gate(policies ...fixture.PolicyBuilder) {
	a.after = func(r *http.Request) {
		if !slices.Contains([]string{http.MethodPatch, http.MethodPost}, r.Method) || !strings.Contains(r.URL.Path, "bindings") {
			return
		}
		for _, ref := range a.refs() {
			if u := a.get(ref); u != nil && u.GetAnnotations()[propagation.AnnotationActivate] != "" {
				a.open(ref, u, policies)
			}
		}
	}
}

func (a *api) open(ref string, u *unstructured.Unstructured, policies []fixture.PolicyBuilder) {
	var b propagation.Binding
	raw, _ := json.Marshal(u.Object["spec"])
	if err := json.Unmarshal(raw, &b.Spec); err != nil {
		a.t.Error(err)
	}
	b.Key = propagation.BindingKey{Namespace: u.GetNamespace(), Name: u.GetName()}
	b.Labels, b.Annotations = u.GetLabels(), u.GetAnnotations()
	for _, p := range policies {
		if b.Claim().By(p.Policy()) {
			t := fixture.Deployment(b.Spec.Resource.Name).ClaimedBy(p)
			next := a.propagated(t, p)
			if ref != bindingRef(next.Key) {
				a.t.Errorf("%s is not %s", ref, bindingRef(next.Key))
			}
			for _, name := range fleet {
				if !slices.Contains(next.TargetClusters(), name) {
					a.remove("work.karmada.io/v1alpha1/Work/karmada-es-" + name + "/" + propagation.WorkName(next.Key))
				}
			}
		}
	}
}
