// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
)

func TestC52ABindingThatIsMissingIsFound(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	says := func(cluster string, scheduled metav1.ConditionStatus) placementv1.ResourcePlacementStatus {
		return placementv1.ResourcePlacementStatus{ClusterName: cluster, Conditions: []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: scheduled}}}
	}
	bound := func(cluster, snapshot string, available metav1.ConditionStatus) *placementv1.ClusterResourceBinding {
		b := &placementv1.ClusterResourceBinding{}
		b.Labels = map[string]string{placementv1.LabelParentCRP: "shop"}
		b.Spec.State, b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, cluster, snapshot
		b.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionAvailable, Status: available}}
		return b
	}
	leaving := func(b *placementv1.ClusterResourceBinding) *placementv1.ClusterResourceBinding {
		b.Annotations = map[string]string{placementv1.AnnotationPreviousBindingState: string(b.Spec.State)}
		b.Spec.State = placementv1.BindingStateUnscheduled
		return b
	}
	binding := func(cluster string) *placementv1.ClusterResourceBinding {
		b := &placementv1.ClusterResourceBinding{}
		b.Labels = map[string]string{placementv1.LabelParentCRP: "shop"}
		b.Spec.State, b.Spec.TargetCluster = placementv1.BindingStateScheduled, cluster
		return b
	}
	ending := func(b *placementv1.ClusterResourceBinding, since time.Duration) *placementv1.ClusterResourceBinding {
		b.DeletionTimestamp = new(metav1.NewTime(now.Add(-since)))
		return b
	}
	for name, tc := range map[string]struct {
		says     []placementv1.ResourcePlacementStatus
		bindings []*placementv1.ClusterResourceBinding
		surge    string
		want     bool
	}{
		"nothing was said yet":                        {},
		"each that is picked has one":                 {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionTrue)}, bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue)}},
		"C63: one waits, and there is room for it":    {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue), binding("b")}, want: true},
		"C63: one waits, and there is no room":        {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionUnknown), leaving(bound("b", "0", metav1.ConditionTrue)), binding("c")}, surge: "0%"},
		"C64: two differ, and all are available":      {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue), bound("b", "1", metav1.ConditionTrue)}, want: true},
		"C64: two differ, and one is not available":   {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue), bound("b", "1", metav1.ConditionUnknown)}},
		"C52: one was taken away by hand":             {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionTrue), says("b", metav1.ConditionTrue)}, bindings: []*placementv1.ClusterResourceBinding{binding("a")}, want: true},
		"C102: one has just been deleted":             {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue), ending(bound("b", "0", metav1.ConditionTrue), time.Second)}, want: true},
		"C102: one has waited for its Works for long": {bindings: []*placementv1.ClusterResourceBinding{bound("a", "0", metav1.ConditionTrue), ending(bound("b", "0", metav1.ConditionTrue), time.Hour)}},
		"C35: one that is not picked needs none":      {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionFalse)}},
		"C36: one that could not be found needs none": {says: []placementv1.ResourcePlacementStatus{says("", metav1.ConditionFalse)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementv1.ClusterResourcePlacement{}
			p.Name, p.Status.PlacementStatuses = "shop", tc.says
			if tc.surge != "" {
				p.Spec.Strategy.RollingUpdate = &placementv1.RollingUpdateConfig{MaxSurge: new(intstr.FromString(tc.surge))}
			}
			if open := Open([]*placementv1.ClusterResourcePlacement{p}, tc.bindings, now.Add(-time.Second), now); slices.Contains(open, "shop") != tc.want {
				t.Errorf("open %q, want it there %t", open, tc.want)
			}
		})
	}
}

// What waits for a person is looked at with each sweep at first, and then once in five
// minutes, however far the sweeps are apart, and not all at one moment.
func TestC102WhatWaitsForAPersonIsLookedAtSeldom(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, every := range []time.Duration{2 * time.Second, time.Minute, 7 * time.Minute} {
		turns, first := 0, map[time.Time]int{}
		const many, hours = 50, 2
		for i := range many {
			id, last := fmt.Sprintf("shop-%d", i), start.Add(-time.Second)
			for now := start.Add(2 * time.Minute); now.Before(start.Add(hours*time.Hour + 2*time.Minute)); now = now.Add(every) {
				if Seldom(id, start, last, now) {
					turns++
					if now.After(start.Add(time.Hour)) && now.Before(start.Add(time.Hour+5*time.Minute)) {
						first[now]++
					}
				}
				last = now
			}
		}
		want := many * hours * int(time.Hour/max(every, 5*time.Minute))
		if turns < want-2*many || turns > want+2*many {
			t.Errorf("every %s: %d turns, want about %d", every, turns, want)
		}
		if every == 2*time.Second && len(first) < many/2 {
			t.Errorf("%d are looked at in %d moments", many, len(first))
		}
	}
	if !Seldom("shop", start, start.Add(50*time.Second), start.Add(52*time.Second)) || !Seldom("shop", start, time.Time{}, start.Add(time.Hour)) {
		t.Error("what has just begun to wait, or of which nobody knows, has no turn")
	}
}
