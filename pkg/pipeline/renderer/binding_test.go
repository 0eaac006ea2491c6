// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
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
			h := placing(t, tc.picked)
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
			putWork(t, h) // or it would have nothing to wait for

			out, err := handleBound(t, h)
			if err != nil {
				t.Fatal(err)
			}
			if told := slices.ContainsFunc(out, func(e event.Event) bool { return e.Type() == events.PlacementScheduled }); told == (tc.wantHeld || tc.others) {
				t.Errorf("the rollout is told %t, though it is held %t, by others %t", told, tc.wantHeld, tc.others)
			}
			if held := heldBy(t, h) != nil; held != tc.wantHeld {
				t.Errorf("held %t, want %t", held, tc.wantHeld)
			}
			if works, err := h.WorksOfPlacementOn(t.Context(), "crp-1", "m1"); err != nil || len(works) != 1 || works[0].Deleting {
				t.Errorf("the Work is not as it was: %v, %v", works, err)
			}
		})
	}
}

// placing is a hub with a placement that picked m1, or left it out.
func placing(t *testing.T, picked bool) *pipelinetest.Hub {
	t.Helper()
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}})
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-0", Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "1"},
		Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
	}}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: "True", ObservedGeneration: 1}}
	policy.Status.ClusterDecisions = []placementv1.ClusterDecision{{ClusterName: "m1", Selected: picked}}
	live, err := h.Placement(t.Context(), "crp-1")
	if err != nil {
		t.Fatal(err)
	}
	policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
	h.Put(policy)
	return h
}

// putWork makes a Work of the placement in m1.
func putWork(t *testing.T, h *pipelinetest.Hub) {
	t.Helper()
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
}

func handleBound(t *testing.T, h renderer.Hub) ([]event.Event, error) {
	t.Helper()
	e, err := events.New("test", event.New(), events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	return renderer.New(h, func() time.Time { return fixture.Start }).Handle(t.Context(), e)
}

// heldBy is the binding crp-1-m1, if the renderer holds it.
func heldBy(t *testing.T, h *pipelinetest.Hub) *placementv1.ClusterResourceBinding {
	t.Helper()
	all, err := h.PlacementBindingsOf(t.Context(), "crp-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Name == "crp-1-m1" && slices.Contains(b.Finalizers, placementv1.FinalizerWork) {
			return b
		}
	}
	return nil
}

// partial is a hub that does not serve some kinds.
type partial struct {
	*pipelinetest.Hub
	unserved, undefined string
	failed              error // of what is asked of definitions
}

func (p partial) WorksOfPlacementOn(ctx context.Context, placement, cluster string) ([]*propagation.Work, error) {
	if strings.Contains(p.unserved, "works") {
		return nil, outcome.ErrNotServed
	}
	return p.Hub.WorksOfPlacementOn(ctx, placement, cluster)
}

func (p partial) PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	if strings.Contains(p.unserved, "policies") {
		return nil, outcome.ErrNotServed
	}
	return p.Hub.PolicySnapshotsOf(ctx, placement)
}

func (p partial) PlacementWorksUndefined(context.Context) (bool, error) {
	return strings.Contains(p.undefined, "works"), p.failed
}

func (p partial) PolicySnapshotsUndefined(context.Context) (bool, error) {
	return strings.Contains(p.undefined, "policies"), p.failed
}

// Z11: a binding that is being deleted is let go where what it waits for is gone with the
// definition of its kind. That a kind is not served does not say so: it waits, and says
// for what.
func TestZ11ADeletedBindingDoesNotWaitForKindsThatAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		picked, leaving     bool // leaving: the placement is being deleted
		work                bool
		unserved, undefined string
		failed              error
		wantHeld            bool
	}{
		"the definition of Works is gone, and the member is picked":     {picked: true, unserved: "works", undefined: "works"},
		"the definition of Works is gone, and the member is left out":   {unserved: "works", undefined: "works"},
		"the definition of Works is gone, and the placement goes, too":  {leaving: true, unserved: "works", undefined: "works"},
		"both definitions are gone":                                     {unserved: "works, policies", undefined: "works, policies"},
		"the definition of policies is gone, and Works are there still": {work: true, unserved: "policies", undefined: "policies"},
		"Works are not served, and nobody knows why":                    {unserved: "works", wantHeld: true},
		"policies are not served, and nobody knows why":                 {work: true, unserved: "policies", wantHeld: true},
		"Works are not served, and definitions may not be read":         {unserved: "works", failed: errRefused, wantHeld: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := placing(t, tc.picked)
			deleted := metav1.NewTime(fixture.Start)
			if tc.leaving {
				h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1", DeletionTimestamp: &deleted, Finalizers: []string{placementv1.FinalizerScheduler}}})
			}
			b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
				Name: "crp-1-m1", Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"},
				DeletionTimestamp: &deleted, Finalizers: []string{placementv1.FinalizerWork},
			}}
			b.Spec.State, b.Spec.TargetCluster = placementv1.BindingStateBound, "m1"
			h.Put(b)
			if tc.work {
				putWork(t, h)
			}
			hub := partial{h, tc.unserved, tc.undefined, tc.failed}
			out, err := handleBound(t, hub)
			held := heldBy(t, h)
			if (held != nil) != tc.wantHeld || (err != nil) != tc.wantHeld || (len(out) > 0) == tc.wantHeld {
				t.Fatalf("held %t, want %t; it tells %v, and ends with %v", held != nil, tc.wantHeld, out, err)
			}
			if works := h.LiveWorks(); tc.work != (len(works) == 1) || tc.work && works[0].Deleting {
				t.Errorf("the Works are not as they were: %v", works)
			}
			if !tc.wantHeld {
				return
			}
			c := meta.FindStatusCondition(held.Status.Conditions, placementv1.ConditionWorkSynchronized)
			if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != held.Generation || !strings.Contains(c.Message, "does not serve") {
				t.Errorf("it says %+v", c)
			}
			if _, err := handleBound(t, hub); !errors.Is(err, outcome.ErrNotServed) || heldBy(t, h).ResourceVersion != held.ResourceVersion {
				t.Errorf("it says so again, and ends with %v", err)
			}
		})
	}
}
