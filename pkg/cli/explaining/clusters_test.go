// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

func TestASuspendedClusterThatIsLeftOutIsListedOnce(t *testing.T) {
	p := fixture.Policy("p").To("member1")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	yes := true
	s.Works = []*propagation.Work{{Key: propagation.WorkKey{Cluster: "member2"}, Spec: workv1alpha1.WorkSpec{SuspendDispatching: &yes}}}
	r := world(p).Explain(s)
	got := map[string]explaining.State{}
	for _, c := range slices.Concat(r.Clusters, r.NotChosen) {
		if got[c.Name] != "" {
			t.Errorf("%s is listed twice: %+v, %+v", c.Name, r.Clusters, r.NotChosen)
		}
		got[c.Name] = c.State
	}
	want := map[string]explaining.State{"member1": explaining.Rendering, "member2": explaining.Held, "member3": explaining.NotChosen}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What no cluster fits goes on naming the one that it was in. When that has left,
// nothing is about to be rendered for it.
func TestAClusterThatHasLeftIsNotWaitedFor(t *testing.T) {
	p := fixture.Policy("p").To("member2")
	w := world(p)
	s := propagated(w, fixture.Deployment("nginx"), p)
	w.Clusters = slices.Delete(w.Clusters, 1, 2)
	r := w.Explain(s)
	if len(r.Clusters) > 0 {
		t.Errorf("it is said to go to %v", r.Clusters)
	}
	want := explaining.Cluster{Name: "member2", State: explaining.NotChosen, Message: "has left"}
	if !slices.Contains(r.NotChosen, want) {
		t.Errorf("not chosen are %v, want %v among them", r.NotChosen, want)
	}
}

func TestClusters(t *testing.T) {
	p := fixture.Policy("p").To("member1", "member2")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	yes := true
	work := func(cluster string, conditions ...metav1.Condition) *propagation.Work {
		return &propagation.Work{
			Key: propagation.WorkKey{Cluster: cluster}, Generation: 2,
			Annotations: map[string]string{propagation.AnnotationRevision: s.Binding.Revision()},
			Status:      workv1alpha1.WorkStatus{Conditions: conditions},
		}
	}
	applied := func(status metav1.ConditionStatus, generation int64) metav1.Condition {
		return metav1.Condition{Type: workv1alpha1.ConditionApplied, Status: status, Reason: "Why", Message: "because", ObservedGeneration: generation}
	}
	rendered := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: "Rendered", Status: status, Reason: "ContentLost", Message: "it is kept no more"}}
	}
	older := func(w *propagation.Work) { w.Annotations = nil }
	leaves := func(w *propagation.Work) { w.Deleting = true }
	for name, tc := range map[string]struct {
		work *propagation.Work
		edit func(w *propagation.Work)
		want explaining.Cluster
		// bound are the binding's conditions.
		bound []metav1.Condition
		// gone: the template is being deleted.
		gone bool
	}{
		"nothing can be made of what is in force":                          {work: work("member1", applied("True", 2)), edit: older, bound: rendered("False"), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.NotRendered, Reason: "ContentLost", Message: "it is kept no more"}},
		"nor was before, and there is no Work":                             {bound: rendered("False"), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.NotRendered, Reason: "ContentLost", Message: "it is kept no more"}},
		"nothing can be made for another member, and there is no Work yet": {bound: []metav1.Condition{{Type: "Rendered", Status: "False", Reason: "WorkNameTaken", Message: "member2: taken"}}, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Rendering}},
		"something can be made of it again":                                {work: work("member1", applied("True", 2)), edit: older, bound: rendered("True"), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applying}},
		"nothing can be made for another member":                           {work: work("member1", applied("True", 2)), bound: []metav1.Condition{{Type: "Rendered", Status: "False", Reason: "OverrideFailed", Message: "member2: no"}}, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applied}},
		"an override fails, and the content is what the member has":        {work: work("member1", applied("True", 2)), bound: []metav1.Condition{{Type: "Rendered", Status: "False", Reason: "OverrideFailed", Message: "member1: no"}}, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applied, Reason: "OverrideFailed", Message: "member1: no"}},
		"there is no Work yet":                                             {work: nil, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Rendering}},
		"the member has not answered":                                      {work: work("member1"), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applying}},
		"the member has it":                                                {work: work("member1", applied("True", 2)), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applied}},
		"the answer is about an older Work":                                {work: work("member1", applied("True", 1)), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applying}},
		"the member refused it":                                            {work: work("member1", applied("False", 2)), want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Failed, Reason: "Why", Message: "because"}},
		"the Work was made from an older content":                          {work: work("member1", applied("True", 2)), edit: func(w *propagation.Work) { w.Annotations = nil }, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applying}},
		"a suspension holds it back":                                       {work: work("member1"), edit: func(w *propagation.Work) { w.Spec.SuspendDispatching = &yes }, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Held, Reason: "SuspendDispatching", Message: "Work dispatching is in a suspended state."}},
		"a suspension that has nothing to hold":                            {work: work("member1", applied("True", 2)), edit: func(w *propagation.Work) { w.Spec.SuspendDispatching = &yes }, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applied}},
		"the cluster is no target any more":                                {work: work("member0", applied("True", 2)), want: explaining.Cluster{Name: "member0", State: explaining.Leaving}},
		"it is being removed":                                              {work: work("member0", applied("True", 2)), edit: leaves, want: explaining.Cluster{Name: "member0", State: explaining.Leaving}},
		"it is being removed with its template":                            {work: work("member1", applied("True", 2)), edit: leaves, gone: true, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Leaving}},
		"Z3: somebody deleted the Work": {work: work("member1", applied("True", 2)), edit: leaves, want: explaining.Cluster{
			Name: "member1", Replicas: 2, State: explaining.Rendering, Message: "its Work is being deleted, and is made anew when it is gone: the member keeps what it has",
		}},
		"Z3: and it has another's finalizer": {work: work("member1", applied("False", 2)), edit: func(w *propagation.Work) {
			w.Deleting, w.Key.Name, w.Finalizers = true, "nginx", []string{propagation.FinalizerWork, "example.com/mine"}
		}, want: explaining.Cluster{
			Name: "member1", Replicas: 2, State: explaining.Rendering,
			Message: "its Work is being deleted, and is made anew when it is gone: the member keeps what it has; the Work nginx in karmada-es-member1 waits for the finalizer example.com/mine",
		}},
		"Z17: the member does not serve its kind": {work: work("member1", metav1.Condition{Type: workv1alpha1.ConditionApplied, Status: "False", Reason: "KindNotServed", Message: "member1 does not serve v1 Gear", ObservedGeneration: 2}), want: explaining.Cluster{
			Name: "member1", Replicas: 2, State: explaining.Failed, Reason: "KindNotServed", Message: "member1 does not serve v1 Gear: install its CustomResourceDefinition there, or have a policy propagate it",
		}},
		"something keeps it while it is being removed": {work: work("member0", applied("False", 2)), edit: leaves, want: explaining.Cluster{Name: "member0", State: explaining.Leaving, Reason: "Why", Message: "because"}},
		"it failed before it was to be removed":        {work: work("member0", applied("False", 1)), edit: leaves, want: explaining.Cluster{Name: "member0", State: explaining.Leaving}},
		"the unhealthiest object is what it shows": {work: work("member1", applied("True", 2)), edit: func(w *propagation.Work) {
			w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Health: "Healthy"}, {Health: "Unhealthy"}, {Health: "Unknown"}}
		}, want: explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.Applied, Health: "Unhealthy"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			bound := *s.Binding
			s.Binding, bound.Status.Conditions = &bound, append(slices.Clone(bound.Status.Conditions), tc.bound...)
			template := *s.Template
			s.Template, template.Deleting = &template, tc.gone
			if tc.work != nil {
				if tc.edit != nil {
					tc.edit(tc.work)
				}
				s.Works = []*propagation.Work{tc.work}
			}
			got := world(p).Explain(s).Clusters[0]
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
