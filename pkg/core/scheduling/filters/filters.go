// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package filters holds the rules that keep a template away from a cluster, one
// rule a file.
//
// Invariants:
//   - A rule looks at one cluster and one binding, and at nothing else.
//   - "No" is a predicate for people, said of the cluster: "is excluded".
//   - Rules are asked in the order of All; the first "no" is the reason told.
//
// A rule must not prefer one cluster over another: that is scheduling's.
package filters

import (
	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Input is what a rule is asked about.
type Input struct {
	Binding *propagation.Binding
	// Affinity is that of the placement that is being tried; nil: any cluster.
	Affinity *policyv1alpha1.ClusterAffinity
	Cluster  *clusterv1alpha1.Cluster
	// Kept tells that the cluster keeps the template whatever the placement says of
	// it by now: its removal is held.
	Kept bool
}

// Filter says why the cluster cannot have the template; empty: it can.
type Filter func(Input) string

// All are the rules, in the order in which they are asked.
func All() []Filter { return []Filter{Leaving, Affinity, Spread, Taints, Evicted} }

// Reject is the reason of the first rule that says no; empty: none does.
func Reject(in Input) string {
	for _, f := range All() {
		if why := f(in); why != "" {
			return why
		}
	}
	return ""
}

// scheduled tells whether the template is in the cluster already.
func scheduled(in Input) bool {
	for _, t := range in.Binding.Spec.Clusters {
		if t.Name == in.Cluster.Name {
			return true
		}
	}
	return false
}
