// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"math"
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/affinity"
)

// assign gives replicas to the chosen clusters: all of them to each, or a share.
// A cluster whose share is nothing is no target. False: they do not fit.
func assign(replicas int32, s *policyv1alpha1.ReplicaSchedulingStrategy, chosen []candidate, measured bool) ([]workv1alpha2.TargetCluster, bool) {
	targets := make([]workv1alpha2.TargetCluster, 0, len(chosen))
	if replicas <= 0 || !propagation.Divided(s) {
		for _, c := range chosen {
			targets = append(targets, workv1alpha2.TargetCluster{Name: c.name, Replicas: max(replicas, 0)})
		}
		return sorted(targets), true
	}
	all, fits := shares(int64(replicas), s, chosen, measured)
	for i, n := range all {
		if n > 0 {
			targets = append(targets, workv1alpha2.TargetCluster{Name: chosen[i].name, Replicas: int32(n)})
		}
	}
	return sorted(targets), fits
}

// shares divides the replicas among the candidates. Static weights are a
// proportion that somebody asked for, and are met anew each time. Every other
// preference lets replicas stay where they are and moves only what it must:
// room, where it is measured, counts for those that are added alone. False: they do not
// fit.
func shares(replicas int64, s *policyv1alpha1.ReplicaSchedulingStrategy, cs []candidate, measured bool) ([]int64, bool) {
	weights, held, added := make([]int64, len(cs)), make([]int64, len(cs)), replicas
	for i, c := range cs {
		weights[i], held[i] = c.weight, c.held
		added -= c.held
	}
	switch {
	case added > 0 && measured:
		return fill(added, propagation.Aggregated(s), held, cs)
	case added < 0 && propagation.Dynamic(s):
		weights = held // each gives its part of them back
	case propagation.Aggregated(s):
		// Nobody knows of room, or none is wanted: one has room for all, the first, or of
		// fewer replicas the one that has the most.
		one := 0
		if added < 0 {
			one = slices.Index(held, slices.Max(held))
		}
		weights = make([]int64, len(cs))
		weights[one] = 1
	}
	ideal := divide(replicas, weights, held)
	if static(s) {
		return ideal, true
	}
	return settle(replicas, held, ideal), true
}

// settle moves from held towards ideal no further than the sum requires:
// growing, no cluster loses a replica; shrinking, none gains one.
func settle(replicas int64, held, ideal []int64) []int64 {
	delta, sign := replicas, int64(1)
	for _, h := range held {
		delta -= h
	}
	if delta < 0 {
		delta, sign = -delta, -1
	}
	gap := make([]int64, len(held))
	for i := range gap {
		gap[i] = max(0, sign*(ideal[i]-held[i]))
	}
	out := slices.Clone(held)
	for i, n := range divide(delta, gap, held) {
		out[i] += sign * n
	}
	return out
}

// divide splits total by weight with the method of the largest remainder. Of
// equal remainders the one wins that holds more than its floor already, so that
// dividing again changes nothing; then the one that comes first. Where all
// weights are 0, they count as equal.
func divide(total int64, weights, held []int64) []int64 {
	var sum int64
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		weights, sum = slices.Repeat([]int64{1}, len(weights)), int64(len(weights))
	}
	out, order, left := make([]int64, len(weights)), make([]int, len(weights)), total
	for i, w := range weights {
		order[i] = i
		out[i] = total * w / sum
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(total*weights[b]%sum, total*weights[a]%sum), cmp.Compare(held[b]-out[b], held[a]-out[a]))
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

// weigh is the weight of each cluster: its greatest static one, else 1. A
// cluster that no entry selects has weight 0, unless no entry selects any.
func weigh(s *policyv1alpha1.ReplicaSchedulingStrategy, clusters []*clusterv1alpha1.Cluster) []int64 {
	even := slices.Repeat([]int64{1}, len(clusters))
	if !static(s) {
		return even
	}
	weights, selected := make([]int64, len(clusters)), false
	for i, c := range clusters {
		for _, e := range s.WeightPreference.StaticWeightList {
			if affinity.Matches(&e.TargetCluster, c) {
				// Bounded, so that sums and products stay far from overflow.
				weights[i] = max(weights[i], min(e.Weight, math.MaxInt32))
				selected = true
			}
		}
	}
	if !selected {
		return even
	}
	return weights
}

// static tells whether somebody asked for a fixed proportion.
func static(s *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	return propagation.Divided(s) && !propagation.Aggregated(s) &&
		s.WeightPreference != nil && s.WeightPreference.DynamicWeight == "" && len(s.WeightPreference.StaticWeightList) > 0
}
