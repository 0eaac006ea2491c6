// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// What is on its way is told when it is there, which costs one write. Until then the
// status says nothing that was true of an earlier form of the placement only.
func TestC80NothingStaysTrueOfAnEarlierForm(t *testing.T) {
	for name, tt := range map[string]struct {
		edited bool
		writes int
		reason string // of the last condition
	}{
		"C80: a new placement is told of when all is there":    {},
		"C80: an edited one says at once that it is under way": {edited: true, writes: 1, reason: placementv1.ReasonRolloutStartedUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			generation := "1"
			if tt.edited {
				for _, c := range []string{placementv1.ConditionPlacementScheduled, placementv1.ConditionPlacementAvailable} {
					p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, ObservedGeneration: 1})
				}
				h.Put(p.DeepCopy())
				generation = "2"
			}
			h.Put(p)
			policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
				Name:        "shop-0",
				Labels:      map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
				Annotations: map[string]string{placementv1.AnnotationCRPGeneration: generation},
			}}
			policy.Status.ObservedCRPGeneration = 2
			policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
			policy.Status.ClusterDecisions = []placementv1.ClusterDecision{{ClusterName: "m1", Selected: true}}
			live, err := h.Placement(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
			h.Put(policy)
			writes := 0
			h.Wrote = func(_ context.Context, w pipelinetest.Write) { writes++ }
			e, err := events.New("scheduler", event.New(), events.PlacementScheduled, events.Data{Placement: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			s := reporter.New(h, nil, func() time.Time { return fixture.Start })
			for range 2 { // the second time changes nothing
				if _, err := s.Handle(ctx, e); err != nil {
					t.Fatal(err)
				}
			}
			if writes != tt.writes {
				t.Errorf("%d writes, want %d", writes, tt.writes)
			}
			now, err := h.Placement(ctx, "shop")
			if err != nil {
				t.Fatal(err)
			}
			if !tt.edited {
				return
			}
			list := now.Status.Conditions
			if telling.Outdated(now) || list[len(list)-1].Reason != tt.reason {
				t.Errorf("it says %+v", list)
			}
		})
	}
}

// A rollout of other content, of which members tell one after the other, is of the same
// generation.
func TestC85EventsAreOfAGeneration(t *testing.T) {
	ctx := t.Context()
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	told := 0
	h.Recorded = func(hub.About, string, string) { told++ }
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	live, err := h.Placement(ctx, "shop")
	must(t, err)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
	labels := func(index string) map[string]string {
		return map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelIsLatestSnapshot: "true", index: "0"}
	}
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-0", Labels: labels(placementv1.LabelPolicyIndex), OwnerReferences: owner, Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "1"},
	}}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	policy.Status.ClusterDecisions = []placementv1.ClusterDecision{{ClusterName: "m1", Selected: true}}
	h.Put(policy)
	h.Put(&placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-0-snapshot", Labels: labels(placementv1.LabelResourceIndex), OwnerReferences: owner,
		Annotations: map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1", placementv1.AnnotationNumberOfEnvelopedObjects: "0"},
	}})
	e, err := events.New("scheduler", event.New(), events.PlacementScheduled, events.Data{Placement: "shop"})
	must(t, err)
	for i, snapshot := range []string{"", "shop-0-snapshot", "", "shop-0-snapshot"} {
		binding := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Name: "shop-m1", Labels: map[string]string{placementv1.LabelParentCRP: "shop"}, OwnerReferences: owner,
		}}
		binding.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, TargetCluster: "m1", SchedulingPolicySnapshotName: "shop-0", ResourceSnapshotName: snapshot}
		binding.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionOverridden, Status: metav1.ConditionFalse, ObservedGeneration: int64(i + 1)}}
		h.Put(binding)
		_, err = reporter.New(h, nil, func() time.Time { return fixture.Start }).Handle(ctx, e)
		must(t, err)
	}
	now, err := h.Placement(ctx, "shop")
	must(t, err)
	if told != 1 {
		t.Errorf("told %d times, want once that the rollout started: %+v", told, now.Status.Conditions)
	}
}

// TestC13C15WhatIsSelectedNoMoreIsListedNoMore: also where nothing is left.
func TestC13C15WhatIsSelectedNoMoreIsListedNoMore(t *testing.T) {
	ctx := t.Context()
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	p.Status.ObservedResourceIndex = "0"
	p.Status.SelectedResources = []placementv1.ResourceIdentifier{{Version: "v1", Kind: "Namespace", Name: "shop"}}
	h.Put(p)
	live, err := h.Placement(ctx, "shop")
	must(t, err)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
	labels := func(index string) map[string]string {
		return map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelIsLatestSnapshot: "true", index: "1"}
	}
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-1", Labels: labels(placementv1.LabelPolicyIndex), OwnerReferences: owner, Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "1"},
	}}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	h.Put(policy)
	h.Put(&placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-1-snapshot", Labels: labels(placementv1.LabelResourceIndex), OwnerReferences: owner,
		Annotations: map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1", placementv1.AnnotationNumberOfEnvelopedObjects: "0"},
	}})
	e, err := events.New("scheduler", event.New(), events.PlacementScheduled, events.Data{Placement: "shop"})
	must(t, err)
	_, err = reporter.New(h, nil, func() time.Time { return fixture.Start }).Handle(ctx, e)
	must(t, err)
	now, err := h.Placement(ctx, "shop")
	must(t, err)
	if now.Status.ObservedResourceIndex != "1" || len(now.Status.SelectedResources) > 0 {
		t.Errorf("of snapshot %q it lists %v", now.Status.ObservedResourceIndex, now.Status.SelectedResources)
	}
}

// What is wrong beside the stages is told behind them, and as long as it is.
func TestC75Y9Z28WhatIsWrongIsToldBesideTheStages(t *testing.T) {
	ctx := t.Context()
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	p.Status.Conditions = []metav1.Condition{{Type: reporting.ConditionKindsGranted, Status: metav1.ConditionFalse, Reason: reporting.ReasonKindNotGranted, ObservedGeneration: 1}}
	h.Put(p)
	live, err := h.Placement(ctx, "shop")
	must(t, err)
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name:            "shop-0",
		Labels:          map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
		Annotations:     map[string]string{placementv1.AnnotationCRPGeneration: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(live, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))},
	}}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	h.Put(policy)
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: "shop"}}
	w = w.WithRivals([]propagation.Rival{{Name: "two-work", Form: propagation.PlacementForm, Object: propagation.TemplateKey{Kind: "ConfigMap", Namespace: "shop", Name: "pages"}, By: "the placement two"}})
	must(t, h.EnsureNamespace(ctx, w.Key.Namespace()))
	w, err = h.CommitWork(ctx, nil, w)
	must(t, err)
	says := func(want ...string) {
		t.Helper()
		writes := 0
		h.Wrote = func(context.Context, pipelinetest.Write) { writes++ }
		e, err := events.New("scheduler", event.New(), events.PlacementWaiting, events.Data{Placement: "shop"})
		must(t, err)
		for range 2 {
			_, err = reporter.New(h, nil, func() time.Time { return fixture.Start }).Handle(ctx, e)
			must(t, err)
		}
		now, err := h.Placement(ctx, "shop")
		must(t, err)
		var got []string
		for _, c := range now.Status.Conditions {
			got = append(got, c.Type+" "+c.Reason)
		}
		if !slices.Equal(got, want) || writes != 1 {
			t.Errorf("with %d writes it says %q, want %q", writes, got, want)
		}
	}
	const scheduled = "ClusterResourcePlacementScheduled SchedulingPolicyFulfilled"
	says(scheduled, "KindsGranted KindNotGranted", "Contested WantedByOthers")
	_, err = h.CommitRivals(ctx, w, nil)
	must(t, err)
	says(scheduled, "KindsGranted KindNotGranted")
}
