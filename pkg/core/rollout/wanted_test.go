// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

func TestC52ABindingThatIsMissingIsFound(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	says := func(cluster string, scheduled metav1.ConditionStatus) placementv1.ResourcePlacementStatus {
		return placementv1.ResourcePlacementStatus{ClusterName: cluster, Conditions: []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: scheduled}}}
	}
	binding := func(cluster string) *placementv1.ClusterResourceBinding {
		b := &placementv1.ClusterResourceBinding{}
		b.Labels = map[string]string{placementv1.LabelParentCRP: "shop"}
		b.Spec.State, b.Spec.TargetCluster = placementv1.BindingStateScheduled, cluster
		return b
	}
	for name, tc := range map[string]struct {
		says     []placementv1.ResourcePlacementStatus
		bindings []*placementv1.ClusterResourceBinding
		want     bool
	}{
		"nothing was said yet":                        {},
		"each that is picked has one":                 {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionTrue)}, bindings: []*placementv1.ClusterResourceBinding{binding("a")}},
		"C52: one was taken away by hand":             {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionTrue), says("b", metav1.ConditionTrue)}, bindings: []*placementv1.ClusterResourceBinding{binding("a")}, want: true},
		"C35: one that is not picked needs none":      {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionFalse)}},
		"C36: one that could not be found needs none": {says: []placementv1.ResourcePlacementStatus{says("", metav1.ConditionFalse)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementv1.ClusterResourcePlacement{}
			p.Name, p.Status.PlacementStatuses = "shop", tc.says
			if open := Open([]*placementv1.ClusterResourcePlacement{p}, tc.bindings, now); slices.Contains(open, "shop") != tc.want {
				t.Errorf("open %q, want it there %t", open, tc.want)
			}
		})
	}
}
