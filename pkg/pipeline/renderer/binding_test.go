// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding of a placement that somebody deleted is held by its Works, and the one in
// its place waits until it is gone: it is let go where the placement picks the member
// still, and not where the member is left out.
func TestC52ADeletedBindingIsLetGoWhereItsMemberIsPickedStill(t *testing.T) {
	for name, tc := range map[string]struct {
		picked, wantHeld bool
		successor        placementv1.BindingState
		// others hold it, and its Works do not any more.
		others bool
	}{
		"picked, and its successor waits":          {picked: true, successor: placementv1.BindingStateScheduled},
		"picked, and it has no successor yet":      {picked: true},
		"picked, and somebody else holds it still": {picked: true, others: true},
		"left out, and its successor goes, too":    {successor: placementv1.BindingStateScheduled, wantHeld: true},
		"left out, with a successor that was made": {successor: placementv1.BindingStateUnscheduled, wantHeld: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}})
			policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
				Name: "crp-1-0", Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "1"},
				Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
			}}
			policy.Status.ObservedCRPGeneration = 1
			policy.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: "True", ObservedGeneration: 1}}
			policy.Status.ClusterDecisions = []placementv1.ClusterDecision{{ClusterName: "m1", Selected: tc.picked}}
			live, err := h.Placement(t.Context(), "crp-1")
			if err != nil {
				t.Fatal(err)
			}
			policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
			h.Put(policy)
			deleted := metav1.NewTime(fixture.Start)
			bound := func(name string, state placementv1.BindingState, at *metav1.Time, holder string) {
				b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
					Name: name, Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"},
					DeletionTimestamp: at, Finalizers: []string{holder},
				}}
				b.Spec.State, b.Spec.TargetCluster = state, "m1"
				h.Put(b)
			}
			holder := placementv1.FinalizerWork
			if tc.others {
				holder = "example.com/hold"
			}
			bound("crp-1-m1", placementv1.BindingStateBound, &deleted, holder)
			if tc.successor != "" {
				bound("crp-1-m1-again", tc.successor, nil, holder)
			}
			// Its Work is there, or it would have nothing to wait for.
			work := &propagation.Work{
				Key:    propagation.WorkKey{Form: propagation.PlacementForm, Cluster: "m1", Name: "crp-1-work"},
				Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"},
			}
			if err := h.EnsureNamespace(t.Context(), propagation.PlacementForm.Namespace("m1")); err != nil {
				t.Fatal(err)
			}
			if _, err := h.CommitWork(t.Context(), nil, work); err != nil {
				t.Fatal(err)
			}

			e, err := events.New("test", event.New(), events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			out, err := renderer.New(h, func() time.Time { return fixture.Start }).Handle(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if told := slices.ContainsFunc(out, func(e event.Event) bool { return e.Type() == events.PlacementScheduled }); told == (tc.wantHeld || tc.others) {
				t.Errorf("the rollout is told %t, though it is held %t, by others %t", told, tc.wantHeld, tc.others)
			}
			left, err := h.PlacementBindingsOf(t.Context(), "crp-1")
			if err != nil {
				t.Fatal(err)
			}
			held := slices.ContainsFunc(left, func(b *placementv1.ClusterResourceBinding) bool {
				return b.Name == "crp-1-m1" && slices.Contains(b.Finalizers, placementv1.FinalizerWork)
			})
			if held != tc.wantHeld {
				t.Errorf("held %t, want %t", held, tc.wantHeld)
			}
			if works, err := h.WorksOfPlacementOn(t.Context(), "crp-1", "m1"); err != nil || len(works) != 1 || works[0].Deleting {
				t.Errorf("the Work is not as it was: %v, %v", works, err)
			}
		})
	}
}
