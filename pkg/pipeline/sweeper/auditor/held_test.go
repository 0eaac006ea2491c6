// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// A Work that waits for a person is announced seldom, until somebody approves what it says.
func TestZ12WhatWaitsForAPersonIsAnnouncedSeldom(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const shop, other = "Namespace shop in m1 holds others", "Namespace other in m1 holds others"
	said := func(why string, status metav1.ConditionStatus, reason string, ago time.Duration) []metav1.Condition {
		return []metav1.Condition{{Type: placementv1.ConditionApplied, Status: status, Reason: reason, Message: why, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now.Add(-ago))}}
	}
	result := func(ordinal int, name string, c []metav1.Condition) placementv1.ManifestCondition {
		return placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{Ordinal: ordinal, Version: "v1", Kind: "Namespace", Name: name}, Conditions: c, Applied: &placementv1.AppliedState{UID: "u"}}
	}
	holds, applied := string(applying.ReasonHoldsOthers), said("", metav1.ConditionTrue, "Applied", time.Hour)
	deleting := func(results ...placementv1.ManifestCondition) *propagation.Work {
		return &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}, Generation: 1, Deleting: true, Deleted: now.Add(-time.Hour), Results: results}
	}
	living := func(results ...placementv1.ManifestCondition) *propagation.Work {
		w := deleting(append([]placementv1.ManifestCondition{result(0, "kept", applied)}, results...)...)
		w.Deleting, w.Deleted, w.Status.Conditions = false, time.Time{}, applied
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kept"}}`)}}}
		return w
	}
	policys := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "shop-namespace"}, Deleting: true, Deleted: now.Add(-time.Hour)}
	policys.Status.Conditions = said(shop, metav1.ConditionFalse, holds, time.Hour)
	held := result(0, "shop", said(shop, metav1.ConditionFalse, holds, time.Hour))
	for name, tc := range map[string]struct {
		work   *propagation.Work
		seldom bool
	}{
		"a policy's":                                       {policys, true},
		"a policy's, which is approved":                    {policys.Approving(applying.Approval(shop)), false},
		"a placement's":                                    {deleting(held), true},
		"a placement's, which is approved":                 {deleting(held).Approving(applying.Approval(shop)), false},
		"another of it was approved":                       {deleting(held).Approving(applying.Approval(other)), true},
		"two of it are held, one is approved":              {deleting(held, result(1, "other", said(other, metav1.ConditionFalse, holds, time.Hour))).Approving(applying.Approval(other)), false},
		"it has just been said":                            {deleting(result(0, "shop", said(shop, metav1.ConditionFalse, holds, time.Second))), false},
		"something else has to leave, too":                 {deleting(held, result(1, "other", applied)), false},
		"one that stands":                                  {living(held), true},
		"one that stands, which is approved":               {living(held).Approving(applying.Approval(shop)), false},
		"one that stands, and something else has to leave": {living(held, result(1, "other", said("", metav1.ConditionFalse, "CannotTell", time.Hour))), false},
	} {
		t.Run("Z12: "+name, func(t *testing.T) {
			announced, sweeps := 0, 0
			for at := now; at.Before(now.Add(10 * time.Minute)); at = at.Add(2 * time.Second) {
				f := found{ready: map[string]bool{"m1": true}, bound: func(propagation.BindingKey) bool { return false }, now: at, last: at.Add(-2 * time.Second)}
				f.sort(tc.work, events.Data{Placement: map[bool]string{true: "shop"}[tc.work.Key.Form == propagation.PlacementForm]})
				sweeps++
				if len(f.underway)+len(f.failing)+len(f.overdue) > 0 {
					announced++
				}
			}
			if want := map[bool]int{true: 2, false: sweeps}[tc.seldom]; announced != want && (tc.seldom || announced < 10) {
				t.Errorf("announced by %d of %d sweeps, want %d", announced, sweeps, want)
			}
		})
	}
}
