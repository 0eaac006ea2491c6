// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

import (
	"strings"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// Spread keeps a template out of a cluster that is in none of the groups over which
// its placement spreads: it says nothing of its region, say.
func Spread(in Input) string {
	if in.Kept {
		return ""
	}
	for _, c := range in.Binding.GroupConstraints() {
		if GroupOf(c, in.Cluster) == "" {
			return "has no " + Topology(c)
		}
	}
	return ""
}

// GroupOf returns the group of the cluster for a constraint: the value of the property
// or the label; empty: it has none. A cluster in several zones is in the group of all
// of these together.
func GroupOf(by policyv1alpha1.SpreadConstraint, c *clusterv1alpha1.Cluster) string {
	switch {
	case by.SpreadByLabel != "":
		return c.Labels[by.SpreadByLabel]
	case by.SpreadByField == policyv1alpha1.SpreadByFieldProvider:
		return c.Spec.Provider
	case by.SpreadByField == policyv1alpha1.SpreadByFieldRegion:
		return c.Spec.Region
	case by.SpreadByField == policyv1alpha1.SpreadByFieldZone:
		return strings.Join(c.Spec.ZoneNames(), ",")
	}
	return c.Name
}

// Topology names, for people, what the constraint spreads over: "region".
func Topology(by policyv1alpha1.SpreadConstraint) string {
	if by.SpreadByLabel != "" {
		return "label " + by.SpreadByLabel
	}
	return string(by.SpreadByField)
}
