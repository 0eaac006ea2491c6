// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeping

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/rollout"
)

// Unplaced reports whether the Works of a placement in a member differ from what the
// placement's binding asks for: one is missing, is made of another snapshot or by other
// overrides, or is suspended where the binding is not, or the reverse. It is false where
// the binding is not bound to a snapshot, is being deleted, or says that its Works cannot
// be made.
func Unplaced(b *placementv1.ClusterResourceBinding, works []*propagation.Work) bool {
	if b.DeletionTimestamp != nil || b.Spec.State != placementv1.BindingStateBound || b.Spec.ResourceSnapshotName == "" || unplaceable(b) {
		return false
	}
	there, want, made := 0, -1, rendering.MadeOf(b.Spec)
	for _, w := range works {
		if !made(w) {
			return true
		}
		if !w.Deleting {
			there++
			if w.Suspended() != rollout.Suspended(b) {
				return true
			}
		}
		if n, err := strconv.Atoi(w.Annotations[rendering.AnnotationWorks]); err == nil {
			want = n
		}
	}
	return there != want
}

// unplaceable tells whether the binding says that its Works cannot be made.
func unplaceable(b *placementv1.ClusterResourceBinding) bool {
	for _, c := range b.Status.Conditions {
		if (c.Type == placementv1.ConditionOverridden || c.Type == placementv1.ConditionWorkSynchronized) && c.Status == metav1.ConditionFalse {
			return true
		}
	}
	return false
}
