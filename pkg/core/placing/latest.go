// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"

	placementv1 "sluice.dev/apis/placement/v1"
)

// PartsOf reads the metadata of those stored snapshots that are genuinely the placement's.
func PartsOf(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterResourceSnapshot) []Part {
	var parts []Part
	real, _ := GenuineSnapshots(p, stored)
	for _, s := range real {
		if part, ok := PartOf(&s.ObjectMeta); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

// Newest returns the parts, in order, of the newest snapshot that is complete; nil if
// there is none.
func Newest(parts []Part) []Part {
	for _, g := range slices.Backward(groups(parts)) {
		if g.whole() {
			return g.parts()
		}
	}
	return nil
}

// Latest returns Newest if that is labelled as the latest, and nil otherwise. A new
// snapshot gets the label before the old one loses it, so a newest one without the
// label is an older one, and the latest was deleted. An older snapshot does not take
// effect; the placer creates the latest again.
func Latest(parts []Part) []Part {
	newest := Newest(parts)
	if len(newest) == 0 || !newest[0].Latest {
		return nil
	}
	return newest
}

// Wanted returns the parts of the snapshot that members should have: the latest, or the
// one that the placement is rolled back to; nil if there is none.
func Wanted(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterResourceSnapshot) []Part {
	parts := PartsOf(p, stored)
	if _, pinned := Pinned(p); pinned {
		return Newest(InForce(p, parts))
	}
	return Latest(parts)
}

// LatestPolicy returns the snapshot of the policy in force, by the rule of Latest; nil if
// there is none.
func LatestPolicy(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterSchedulingPolicySnapshot) *placementv1.ClusterSchedulingPolicySnapshot {
	real, _ := GenuinePolicies(p, stored)
	var newest *placementv1.ClusterSchedulingPolicySnapshot
	for _, s := range real {
		if s.DeletionTimestamp == nil && (newest == nil || policyIndex(s) > policyIndex(newest)) {
			newest = s
		}
	}
	if newest == nil || newest.Labels[placementv1.LabelIsLatestSnapshot] != "true" {
		return nil
	}
	return newest
}
