// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// misnamed says why the targets are not acted on: a cluster that is joined would lose
// the template because no term names it, while one of the terms names a cluster that is
// not joined. That is what a misspelled name looks like. Empty: they are acted on.
//
// A cluster that leaves for another reason (excluded by name, tainted, leaving, or without
// a share of the replicas) does leave.
func misnamed(b *propagation.Binding, terms []policyv1alpha1.ClusterAffinityTerm, clusters []*clusterv1alpha1.Cluster, targets []workv1alpha2.TargetCluster) string {
	var names, left []string
	for _, t := range terms {
		names = append(names, t.ClusterNames...)
	}
	unknown := absent(names, clusters)
	if len(unknown) == 0 {
		return ""
	}
	for _, c := range clusters {
		had, stays := slices.ContainsFunc(b.Spec.Clusters, named(c.Name)), slices.ContainsFunc(targets, named(c.Name))
		if had && !stays && c.DeletionTimestamp == nil && !slices.ContainsFunc(terms, spares(c.Name)) {
			left = append(left, c.Name)
		}
	}
	return mistake(unknown, left, "clusterNames names what is not joined (%s) and would take the template from %s; it stays where it is")
}

// spares tells of a term whether it says more of a cluster than not to name it.
func spares(name string) func(policyv1alpha1.ClusterAffinityTerm) bool {
	return func(t policyv1alpha1.ClusterAffinityTerm) bool {
		return len(t.ClusterNames) == 0 || slices.Contains(t.ClusterNames, name) || slices.Contains(t.ExcludeClusters, name)
	}
}

// misweighed says the same of static weights: a cluster would lose its replicas because
// no weight is its own, while one of the weights is for a cluster that is not joined.
func misweighed(b *propagation.Binding, s *policyv1alpha1.ReplicaSchedulingStrategy, clusters []*clusterv1alpha1.Cluster, a attempt) string {
	if !static(s) {
		return ""
	}
	var names, left []string
	for _, w := range s.WeightPreference.StaticWeightList {
		names = append(names, w.TargetCluster.ClusterNames...)
	}
	unknown := absent(names, clusters)
	if len(unknown) == 0 {
		return ""
	}
	for _, t := range sorted(b.Spec.Clusters) { // in whatever order the binding has them
		if t.Replicas > 0 && slices.Contains(a.weightless, t.Name) && !slices.ContainsFunc(a.targets, named(t.Name)) {
			left = append(left, t.Name)
		}
	}
	return mistake(unknown, left, "staticWeightList names what is not joined (%s) and would take the replicas from %s; they stay where they are")
}

// mistake says what would be taken from the clusters left for names that are nobody's;
// empty: nothing is taken from any.
func mistake(unknown, left []string, what string) string {
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf(what, strings.Join(bounded(unknown), ", "), strings.Join(bounded(left), ", ")) + ": correct the name, or take it out"
}
