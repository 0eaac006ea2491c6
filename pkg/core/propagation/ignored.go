// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// IgnoredField is a field of a policy that is stored and not acted on.
type IgnoredField struct {
	// Path of the field.
	Path string
	// Instead is what happens; empty: as without it.
	Instead string
}

// Ignored are the fields that a policy sets and that nobody acts on yet, as
// docs/fields.md lists them.
func Ignored(s *policyv1alpha1.PropagationSpec) []IgnoredField {
	var all []IgnoredField
	ignored := func(set bool, path, instead string) {
		if set {
			all = append(all, IgnoredField{path, instead})
		}
	}
	ignored(s.Failover != nil, "spec.failover", "")
	ignored(s.SchedulePriority != nil, "spec.schedulePriority", "")
	ignored(len(s.DependentOverrides) > 0, "spec.dependentOverrides", "")
	ignored(slices.ContainsFunc(s.Placement.SpreadConstraints, grouping), "spec.placement.spreadConstraints by anything but cluster", "")
	if r := s.Placement.ReplicaScheduling; r != nil && r.WeightPreference != nil {
		ignored(r.WeightPreference.DynamicWeight != "", "spec.placement.replicaScheduling.weightPreference.dynamicWeight", "replicas are divided evenly")
	}
	for _, t := range s.Placement.ClusterTolerations {
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoSchedule {
			ignored(true, "spec.placement.clusterTolerations[].tolerationSeconds", "it is tolerated for ever")
			break
		}
	}
	return all
}

// grouping tells whether a constraint spreads over groups of clusters.
func grouping(c policyv1alpha1.SpreadConstraint) bool {
	return c.SpreadByLabel != "" || c.SpreadByField != "" && c.SpreadByField != policyv1alpha1.SpreadByFieldCluster
}
