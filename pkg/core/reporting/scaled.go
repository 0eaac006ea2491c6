// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Scaled is how many replicas a template shall ask for that leaves their number to its
// members (propagation.LabelRetainReplicas): as many as run there, where its replicas are
// divided among them. False: as many as it does. As long as something waits or is on its
// way, or a member has not said that it has what it wants, the numbers are of different
// times and nothing follows from them: a change of the template lets through what waits.
func Scaled(t *propagation.Template, b *propagation.Binding) (int32, bool) {
	k := kinds.Named(t.Key.GroupVersionKind().GroupKind())
	if t.Labels[propagation.LabelRetainReplicas] != "true" || !k.Scales() || !dividedReplicas(b) || !settled(t, b) {
		return 0, false
	}
	asked, err := k.Replicas(t.Object)
	if err != nil || asked != b.Spec.Replicas {
		return 0, false
	}
	var run int64
	for _, m := range membersOf(t, b) {
		n, _ := m.Status["replicas"].(int64)
		if n <= 0 { // an autoscaler lets one run at least
			return 0, false
		}
		run += n
	}
	if run != int64(int32(run)) || int32(run) == asked { //nolint:gosec // it is compared
		return 0, false
	}
	return int32(run), true //nolint:gosec // it was compared
}

func dividedReplicas(b *propagation.Binding) bool {
	p := b.Spec.Placement
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.ReplicaSchedulingType == policyv1alpha1.ReplicaSchedulingTypeDivided
}

// settled tells whether the template's present content is what all members of its
// binding have, and each is healthy by that.
func settled(t *propagation.Template, b *propagation.Binding) bool {
	if b.ActedHash() != t.Hash || conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionFalse) || !allObserved(b, membersOf(t, b)) {
		return false
	}
	for _, item := range b.Status.AggregatedStatus {
		if item.Health != workv1alpha2.ResourceHealthy {
			return false
		}
	}
	return len(b.Status.AggregatedStatus) == len(b.TargetClusters())
}
