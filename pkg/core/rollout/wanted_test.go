// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
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
		"C35: one that is not picked needs none":      {says: []placementv1.ResourcePlacementStatus{says("a", metav1.ConditionFalse)}},
		"C36: one that could not be found needs none": {says: []placementv1.ResourcePlacementStatus{says("", metav1.ConditionFalse)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementv1.ClusterResourcePlacement{}
			p.Name, p.Status.PlacementStatuses = "shop", tc.says
			if tc.surge != "" {
				p.Spec.Strategy.RollingUpdate = &placementv1.RollingUpdateConfig{MaxSurge: new(intstr.FromString(tc.surge))}
			}
			if open := Open([]*placementv1.ClusterResourcePlacement{p}, tc.bindings, now); slices.Contains(open, "shop") != tc.want {
				t.Errorf("open %q, want it there %t", open, tc.want)
			}
		})
	}
}
