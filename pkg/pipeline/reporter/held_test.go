// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// The rollout need not wait for an approval: the binding says that one is waited for, and
// the rollout is told.
func TestC63TheRolloutIsToldThatOnlyWhatIsHeldIsLeft(t *testing.T) {
	ctx, now := t.Context(), func() time.Time { return fixture.Start }
	h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Name: "shop-m1", Labels: map[string]string{placementv1.LabelParentCRP: "shop"}, Finalizers: []string{placementv1.FinalizerWork},
		DeletionTimestamp: new(metav1.NewTime(fixture.Start)),
	}}
	b.Spec.State, b.Spec.TargetCluster = placementv1.BindingStateBound, "m1"
	h.Put(b)
	if err := h.EnsureNamespace(ctx, propagation.PlacementForm.Namespace("m1")); err != nil {
		t.Fatal(err)
	}
	w, err := h.CommitWork(ctx, nil, &propagation.Work{
		Key:    propagation.WorkKey{Form: propagation.PlacementForm, Cluster: "m1", Name: "shop-work"},
		Labels: map[string]string{placementv1.LabelParentCRP: "shop"}, Finalizers: []string{propagation.FinalizerWork},
	})
	if err != nil {
		t.Fatal(err)
	}
	held := placementv1.ManifestCondition{Conditions: []metav1.Condition{{Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(applying.ReasonHoldsOthers), Message: "it holds a/b"}}}
	if w, err = h.CommitWorkResults(ctx, w, placementv1.WorkStatus{ManifestConditions: []placementv1.ManifestCondition{held}}); err != nil {
		t.Fatal(err)
	}
	if err := h.DeleteWork(ctx, w); err != nil {
		t.Fatal(err)
	}
	template := propagation.PlacementKey("shop")
	e, err := events.New("applier", event.New(), events.WorkFailed, events.Data{Template: &template, Placement: "shop", Work: &w.Key, Cluster: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // handled again, it tells the same
		out, err := reporter.New(h, nil, now).Handle(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(out, func(e event.Event) bool { return e.Type() == events.PlacementReported }) {
			t.Errorf("it tells %v", out)
		}
	}
	all, err := h.PlacementBindingsOf(ctx, "shop")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if c := meta.FindStatusCondition(all[0].Status.Conditions, placementv1.ConditionApplied); c == nil || c.Reason != string(applying.ReasonHoldsOthers) || c.Message != "it holds a/b" {
		t.Errorf("the binding says %+v", c)
	}
}
