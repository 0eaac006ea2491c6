// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// surveyed is the input as the ways to pick want it: which clusters keep their
// place, and which may be picked.
type surveyed struct {
	policy  *placementv1.PlacementPolicy
	members []*memberclusterv1.MemberCluster // by name, each once
	now     time.Time
	// kept are the decisions of the same policy that stand, by member.
	kept map[string]placementv1.ClusterDecision
	// bound are the members that were given the placement.
	bound map[string]bool
	// had are the members with a binding.
	had map[string]bool
	// spare are the members that are more than are wanted, and those that the policy gave
	// up when it was asked before, and that still have a binding.
	spare map[string]bool
	// gone are the members that the policy gave up when it was asked before: what they still
	// have does not count against a taint.
	gone map[string]bool
}

// survey is the step Batch: what of the earlier decisions stands.
func survey(in Input) *surveyed {
	s := &surveyed{
		policy: in.Policy.Spec.Policy, members: byName(in.Members), now: in.Now,
		kept: map[string]placementv1.ClusterDecision{}, bound: map[string]bool{}, had: map[string]bool{}, spare: map[string]bool{},
	}
	if s.policy == nil {
		s.policy = &placementv1.PlacementPolicy{}
	}
	for _, b := range in.Bindings {
		if Picks(b) && !in.Evicted[b.Spec.TargetCluster] {
			s.had[b.Spec.TargetCluster] = true
			s.bound[b.Spec.TargetCluster] = s.bound[b.Spec.TargetCluster] || b.Spec.State == placementv1.BindingStateBound
			s.spare[b.Spec.TargetCluster] = in.asked()
		}
	}
	for _, d := range in.Policy.Status.ClusterDecisions {
		if d.Selected {
			delete(s.spare, d.ClusterName)
		}
	}
	s.gone = maps.Clone(s.spare)
	for _, d := range in.decided() {
		if in.Evicted[d.ClusterName] {
			continue
		}
		if m := s.find(d.ClusterName); d.Selected && d.Reason != ReasonHeld && m != nil && leaving(m) == "" {
			s.kept[d.ClusterName] = d
		}
	}
	return s
}

// asked tells whether the snapshot of the policy says what was decided before.
func (in Input) asked() bool {
	return meta.FindStatusCondition(in.Policy.Status.Conditions, placementv1.ConditionScheduled) != nil || len(in.Policy.Status.ClusterDecisions) > 0
}

// decided are the earlier decisions of the same policy: what its snapshot says, and where
// that is made anew and says nothing yet, what the bindings say.
func (in Input) decided() []placementv1.ClusterDecision {
	if in.asked() {
		return in.Policy.Status.ClusterDecisions
	}
	var all []placementv1.ClusterDecision
	for _, b := range in.Bindings {
		if Picks(b) && b.Spec.ClusterDecision.ClusterName == b.Spec.TargetCluster && pickedBy(b, in.Policy) {
			all = append(all, b.Spec.ClusterDecision)
		}
	}
	return all
}

func byName(members []*memberclusterv1.MemberCluster) []*memberclusterv1.MemberCluster {
	out := slices.Clone(members)
	slices.SortFunc(out, func(a, b *memberclusterv1.MemberCluster) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b *memberclusterv1.MemberCluster) bool { return a.Name == b.Name })
}

// find is the member of that name; nil: it has not joined.
func (s *surveyed) find(name string) *memberclusterv1.MemberCluster {
	i, found := slices.BinarySearchFunc(s.members, name, func(m *memberclusterv1.MemberCluster, n string) int { return cmp.Compare(m.Name, n) })
	if !found {
		return nil
	}
	return s.members[i]
}

// filter is the step Filter: which of the members that are not kept may be picked, and
// why the others may not.
func (s *surveyed) filter(rules ...rule) (passed []*candidate, refused []placementv1.ClusterDecision) {
	for _, m := range s.members {
		if _, stays := s.kept[m.Name]; stays {
			continue
		}
		if why := s.reject(m, rules); why != "" {
			refused = append(refused, placementv1.ClusterDecision{ClusterName: m.Name, Reason: why})
			continue
		}
		passed = append(passed, &candidate{member: m, had: s.had[m.Name]})
	}
	return passed, refused
}

func (s *surveyed) reject(m *memberclusterv1.MemberCluster, rules []rule) string {
	for _, r := range rules {
		if why := r(m); why != "" {
			return "cluster " + why
		}
	}
	return ""
}

// stay are the decisions that stand, by name.
func (s *surveyed) stay() []placementv1.ClusterDecision {
	out := make([]placementv1.ClusterDecision, 0, len(s.kept))
	for _, d := range s.kept {
		d.Reason = ReasonPicked
		out = append(out, d)
	}
	return sorted(out)
}

func sorted(ds []placementv1.ClusterDecision) []placementv1.ClusterDecision {
	slices.SortFunc(ds, func(a, b placementv1.ClusterDecision) int { return cmp.Compare(a.ClusterName, b.ClusterName) })
	return ds
}

func atMost(ds []placementv1.ClusterDecision) []placementv1.ClusterDecision {
	return ds[:min(len(ds), maxUnpicked)]
}
