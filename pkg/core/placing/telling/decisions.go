// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/scheduling/placement"
)

// BindingTo returns the placement's binding to the cluster; nil if there is none that is
// not being deleted.
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

// LatestPolicy returns the policy snapshot that is labelled as the latest; nil if none
// is.
func LatestPolicy(all []*placementv1.ClusterSchedulingPolicySnapshot) *placementv1.ClusterSchedulingPolicySnapshot {
	return newest(all, func(s *placementv1.ClusterSchedulingPolicySnapshot) (string, string) {
		return s.Labels[placementv1.LabelIsLatestSnapshot], s.Labels[placementv1.LabelPolicyIndex]
	})
}

// Resources returns the first part of the snapshot that the members have to have: the
// newest, or the one that the placement is rolled back to; nil if there is none.
func Resources(p *placementv1.ClusterResourcePlacement, all []*placementv1.ClusterResourceSnapshot) *placementv1.ClusterResourceSnapshot {
	index, pinned := placing.Pinned(p)
	var first []*placementv1.ClusterResourceSnapshot
	for _, s := range all {
		if s.Annotations[placementv1.AnnotationNumberOfResourceSnapshots] == "" {
			continue
		}
		if pinned && s.Labels[placementv1.LabelResourceIndex] == strconv.Itoa(index) {
			return s
		}
		first = append(first, s)
	}
	if pinned {
		return nil
	}
	return newest(first, func(s *placementv1.ClusterResourceSnapshot) (string, string) {
		return s.Labels[placementv1.LabelIsLatestSnapshot], s.Labels[placementv1.LabelResourceIndex]
	})
}

// Parts returns the names of all parts of the snapshot that the members have to have, in
// order.
func Parts(p *placementv1.ClusterResourcePlacement, all []*placementv1.ClusterResourceSnapshot) []string {
	latest := Resources(p, all)
	if latest == nil {
		return nil
	}
	var parts []*placementv1.ClusterResourceSnapshot
	for _, s := range all {
		if s.Labels[placementv1.LabelResourceIndex] == latest.Labels[placementv1.LabelResourceIndex] {
			parts = append(parts, s)
		}
	}
	number := func(s *placementv1.ClusterResourceSnapshot) int {
		n, err := strconv.Atoi(s.Annotations[placementv1.AnnotationSubindex])
		if err != nil {
			return -1
		}
		return n
	}
	slices.SortFunc(parts, func(a, b *placementv1.ClusterResourceSnapshot) int { return number(a) - number(b) })
	names := make([]string, len(parts))
	for i, s := range parts {
		names[i] = s.Name
	}
	return names
}

// newest is the one that says that it is the latest, of the highest index.
func newest[T any](all []*T, labels func(*T) (latest, index string)) (found *T) {
	highest := -1
	for _, s := range all {
		latest, index := labels(s)
		if n, err := strconv.Atoi(index); err == nil && latest == "true" && n > highest {
			found, highest = s, n
		}
	}
	return found
}

// Decided reports whether the policy snapshot's status says which members are chosen, for
// its present form.
func Decided(policy *placementv1.ClusterSchedulingPolicySnapshot) bool {
	if policy == nil {
		return false
	}
	c := meta.FindStatusCondition(policy.Status.Conditions, placementv1.ConditionScheduled)
	return c != nil && c.ObservedGeneration == policy.Generation && policy.Status.ObservedCRPGeneration >= placement.Generation(policy)
}

// maxDecisions is how many decisions a policy names at most; of more, nobody
// knows whether one was chosen that is not named.
const maxDecisions = 1000

// LeavesOut reports whether the placement's decision leaves the cluster out. It is false
// as long as nothing is decided.
func LeavesOut(policies []*placementv1.ClusterSchedulingPolicySnapshot, cluster string) bool {
	policy := LatestPolicy(policies)
	if !Decided(policy) || len(policy.Status.ClusterDecisions) >= maxDecisions {
		return false
	}
	return !slices.ContainsFunc(policy.Status.ClusterDecisions, func(d placementv1.ClusterDecision) bool {
		return d.Selected && d.ClusterName == cluster
	})
}
