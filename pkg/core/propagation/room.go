// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"

// ByRoom tells whether a placement divides replicas by the room that clusters have.
func ByRoom(p *policyv1alpha1.Placement) bool {
	return p != nil && (Aggregated(p.ReplicaScheduling) || Dynamic(p.ReplicaScheduling))
}

// Aggregated tells whether replicas are divided so that few clusters have them; then no
// weight counts.
func Aggregated(s *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	return Divided(s) && s.ReplicaDivisionPreference == policyv1alpha1.ReplicaDivisionPreferenceAggregated
}

// Dynamic tells whether the weight of a cluster is the room that it has.
func Dynamic(s *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	return Divided(s) && !Aggregated(s) && s.WeightPreference != nil && s.WeightPreference.DynamicWeight != ""
}

// Divided tells whether the clusters share the replicas.
func Divided(s *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	return s != nil && s.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDuplicated
}
