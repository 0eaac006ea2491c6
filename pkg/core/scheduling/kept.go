// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/filters"
)

// keeping are the clusters that have the template, and keep it though they would be
// left out: their removal is held.
func keeping(b *propagation.Binding) map[string]bool {
	out := map[string]bool{}
	for _, name := range b.HeldRemovals() {
		if slices.ContainsFunc(b.Spec.Clusters, named(name)) {
			out[name] = true
		}
	}
	return out
}

// keep adds to the targets those clusters that keep the template and were not
// chosen, each with what it has, and tells which keep it. A cluster that is leaving,
// or that the template is evicted from, keeps nothing.
func keep(b *propagation.Binding, kept map[string]bool, clusters []*clusterv1alpha1.Cluster, targets []workv1alpha2.TargetCluster) (all []workv1alpha2.TargetCluster, names []string) {
	if len(kept) == 0 {
		return targets, nil
	}
	for _, c := range clusters {
		if !kept[c.Name] || filters.Leaving(filters.Input{Binding: b, Cluster: c}) != "" || filters.Evicted(filters.Input{Binding: b, Cluster: c}) != "" {
			continue
		}
		names = append(names, c.Name)
		if !slices.ContainsFunc(targets, named(c.Name)) {
			i := slices.IndexFunc(b.Spec.Clusters, named(c.Name))
			targets = append(targets, b.Spec.Clusters[i])
		}
	}
	return sorted(targets), names
}

func named(name string) func(workv1alpha2.TargetCluster) bool {
	return func(t workv1alpha2.TargetCluster) bool { return t.Name == name }
}
