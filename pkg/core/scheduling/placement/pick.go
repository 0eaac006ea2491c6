// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"

	placementv1 "sluice.dev/apis/placement/v1"
)

// pickAll picks every member that may be picked.
func (s *surveyed) pickAll() Decision {
	passed, refused := s.filter(leaving, connected(s.now), s.required(), s.tainted())
	d := Decision{Picked: s.stay(), Unpicked: atMost(refused), Condition: fulfilled(true)}
	for _, c := range passed {
		d.Picked = append(d.Picked, picked(c))
	}
	sorted(d.Picked)
	return d
}

// pickFixed picks the members that are named, whatever their taints.
func (s *surveyed) pickFixed() Decision {
	d := Decision{}
	ready := connected(s.now)
	names := slices.Clone(s.policy.ClusterNames)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		m := s.find(name)
		_, stays := s.kept[name]
		why := ""
		switch {
		case m == nil:
			why = fmt.Sprintf("cluster %q is not found: it has not joined the fleet, or left it", name)
		case !stays:
			why = s.reject(m, []rule{leaving, ready})
		}
		if why != "" {
			d.Unpicked = append(d.Unpicked, placementv1.ClusterDecision{ClusterName: name, Reason: why})
			continue
		}
		d.Picked = append(d.Picked, placementv1.ClusterDecision{ClusterName: name, Selected: true, Reason: ReasonPicked})
	}
	d.Condition = fulfilled(len(d.Unpicked) == 0)
	d.Unpicked = atMost(d.Unpicked)
	return d
}

// pickN picks as many as are wanted, if there are so many.
func (s *surveyed) pickN(n int) Decision {
	s.shrink(len(s.kept) - n)
	passed, refused := s.filter(leaving, connected(s.now), s.required(), s.tainted())
	s.prefer(passed)
	constraints := s.constraints()
	groups := group(passed, constraints)
	d := Decision{Picked: s.stay()}
	for len(d.Picked) < n {
		c := best(groups, constraints)
		if c == nil {
			break
		}
		d.Picked = append(d.Picked, picked(c))
	}
	refused = s.refuse(groups, refused)
	rest, infeasible := leftOver(groups, constraints)
	d.Unpicked = atMost(slices.Concat(rest, infeasible, refused))
	d.Condition = fulfilled(len(d.Picked) == n)
	sorted(d.Picked)
	return d
}

// best takes the best candidate out of the groups and counts it; nil: nobody can be
// picked any more.
func best(groups []*alike, constraints []*constraint) *candidate {
	var from *alike
	for _, g := range groups {
		if len(g.rest) == 0 {
			continue
		}
		spread, why := g.weigh(constraints)
		if why != "" {
			continue
		}
		if g.rest[0].spread = spread; from == nil || better(g.rest[0], from.rest[0]) < 0 {
			from = g
		}
	}
	if from == nil {
		return nil
	}
	c := from.rest[0]
	from.rest = from.rest[1:]
	for i, t := range constraints {
		t.add(from.domains[i])
	}
	return c
}

// refuse moves to the refused those that were not picked, and were candidates only because
// they have the placement in spite of a taint: so they are refused when they have it no
// more, which nobody would be told of.
func (s *surveyed) refuse(groups []*alike, refused []placementv1.ClusterDecision) []placementv1.ClusterDecision {
	untolerated := []rule{s.untolerated()}
	for _, g := range groups {
		g.rest = slices.DeleteFunc(g.rest, func(c *candidate) bool {
			why := s.reject(c.member, untolerated)
			if why != "" {
				refused = append(refused, placementv1.ClusterDecision{ClusterName: c.member.Name, Reason: why})
			}
			return why != ""
		})
	}
	return sorted(refused)
}

// ranked orders those that were not picked, the best first. Whether one still has the
// placement does not count: that ends by itself, and would be told with a write then.
func ranked(a, b *candidate) int {
	return cmp.Or(a.compare(b.score), cmp.Compare(b.member.Name, a.member.Name))
}

// leftOver are those that were not picked: the best first those that might have
// been, and those that must not.
func leftOver(groups []*alike, constraints []*constraint) (rest, infeasible []placementv1.ClusterDecision) {
	var candidates []*candidate
	for _, g := range groups {
		spread, why := g.weigh(constraints)
		for _, c := range g.rest {
			if c.spread = spread; why == "" {
				candidates = append(candidates, c)
			} else {
				infeasible = append(infeasible, placementv1.ClusterDecision{ClusterName: c.member.Name, Reason: "cluster " + why})
			}
		}
	}
	slices.SortFunc(candidates, ranked)
	for _, c := range candidates[:min(len(candidates), maxUnpicked)] {
		rest = append(rest, placementv1.ClusterDecision{
			ClusterName: c.member.Name, ClusterScore: c.wire(),
			Reason: fmt.Sprintf("cluster does not score high enough (affinity score: %d, topology spread score: %d)", c.affinity, c.spread),
		})
	}
	return rest, sorted(infeasible)
}

// shrink gives up as many of those that are kept: first those that have nothing yet,
// then those with the lowest scores. They are candidates as all others, and compared
// with them.
func (s *surveyed) shrink(count int) {
	kept := s.stay()
	slices.SortFunc(kept, func(a, b placementv1.ClusterDecision) int {
		return cmp.Or(s.compareBound(a, b), scoreOf(b).compare(scoreOf(a)), cmp.Compare(a.ClusterName, b.ClusterName))
	})
	for _, d := range kept[:max(count, 0)] {
		delete(s.kept, d.ClusterName)
		s.spare[d.ClusterName] = true
	}
}

// compareBound orders those first that have nothing yet.
func (s *surveyed) compareBound(a, b placementv1.ClusterDecision) int {
	switch x, y := s.bound[a.ClusterName], s.bound[b.ClusterName]; {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
