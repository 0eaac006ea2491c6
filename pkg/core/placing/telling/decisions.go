// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/scheduling/placement"
)

// BindingTo returns the placement's binding to the cluster that is not being deleted;
// nil if there is none.
func BindingTo(all []*placementv1.ClusterResourceBinding, cluster string) *placementv1.ClusterResourceBinding {
	var found *placementv1.ClusterResourceBinding
	for _, b := range all {
		if b.Spec.TargetCluster != cluster || b.DeletionTimestamp != nil {
			continue
		}
		if found == nil || b.Spec.State == placementv1.BindingStateBound {
			found = b
		}
	}
	return found
}

// Resources returns the first part of the snapshot that members should have: the
// newest, or the one that the placement is rolled back to; nil if there is none.
func Resources(p *placementv1.ClusterResourcePlacement, all []*placementv1.ClusterResourceSnapshot) *placementv1.ClusterResourceSnapshot {
	wanted := placing.Wanted(p, all)
	if len(wanted) == 0 {
		return nil
	}
	return all[slices.IndexFunc(all, func(s *placementv1.ClusterResourceSnapshot) bool { return s.Name == wanted[0].Name })]
}

// Parts returns the names of all parts of the snapshot that members should have, in
// order.
func Parts(p *placementv1.ClusterResourcePlacement, all []*placementv1.ClusterResourceSnapshot) []string {
	var names []string
	for _, part := range placing.Wanted(p, all) {
		names = append(names, part.Name)
	}
	return names
}

// Decided reports whether the policy snapshot's status names the chosen members, for
// the snapshot's present form.
func Decided(policy *placementv1.ClusterSchedulingPolicySnapshot) bool {
	if policy == nil {
		return false
	}
	c := meta.FindStatusCondition(policy.Status.Conditions, placementv1.ConditionScheduled)
	return c != nil && c.ObservedGeneration == policy.Generation && policy.Status.ObservedCRPGeneration >= placement.Generation(policy)
}

// maxDecisions is the maximum number of decisions in the status of a policy snapshot.
// If there are that many, a cluster that is missing among them may still be chosen.
const maxDecisions = 1000

// LeavesOut reports whether the placement's decision leaves the cluster out. It is
// false as long as no decision was made.
func LeavesOut(p *placementv1.ClusterResourcePlacement, policies []*placementv1.ClusterSchedulingPolicySnapshot, cluster string) bool {
	policy := placing.LatestPolicy(p, policies)
	if !Decided(policy) || len(policy.Status.ClusterDecisions) >= maxDecisions {
		return false
	}
	return !slices.ContainsFunc(policy.Status.ClusterDecisions, func(d placementv1.ClusterDecision) bool {
		return d.Selected && d.ClusterName == cluster
	})
}
