// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strconv"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// penalty is what a member's score loses where it breaks a constraint that may be
// broken, or does not have the label, and so helps no spread.
const penalty = 1000

// without is the domain of a member that does not have a constraint's label.
const without = -1

// constraint counts the picked members by the value of its label.
type constraint struct {
	key     string
	maxSkew int
	hard    bool

	domains map[string]int // value → index of counts
	counts  []int
	// held is how many domains have how many picked members.
	held        map[int]int
	least, most int
}

// constraints are those of the policy, with the members that are kept counted. The
// domains are those of all members that are not leaving.
func (s *surveyed) constraints() []*constraint {
	out := make([]*constraint, 0, len(s.policy.TopologySpreadConstraints))
	for _, t := range s.policy.TopologySpreadConstraints {
		c := &constraint{key: t.TopologyKey, maxSkew: 1, hard: t.WhenUnsatisfiable != placementv1.ScheduleAnyway, domains: map[string]int{}, held: map[int]int{}}
		if t.MaxSkew != nil {
			c.maxSkew = int(*t.MaxSkew)
		}
		for _, m := range s.members {
			value, labelled := m.Labels[c.key]
			if _, known := c.domains[value]; !labelled || known || leaving(m) != "" {
				continue
			}
			c.domains[value] = len(c.counts)
			c.counts = append(c.counts, 0)
		}
		c.held[0] = len(c.counts)
		for name := range s.kept {
			c.add(c.domain(s.find(name)))
		}
		out = append(out, c)
	}
	return out
}

// domain of a member; without: it has none.
func (c *constraint) domain(m *memberclusterv1.MemberCluster) int {
	value, labelled := m.Labels[c.key]
	if !labelled {
		return without
	}
	return c.domains[value]
}

// add counts one member more in the domain.
func (c *constraint) add(domain int) {
	if domain == without {
		return
	}
	was := c.counts[domain]
	c.least, c.most = c.after(domain)
	c.counts[domain]++
	c.held[was]--
	c.held[was+1]++
}

// after is the smallest and the greatest count with one member more in the domain.
func (c *constraint) after(domain int) (least, most int) {
	least, most = c.least, max(c.most, c.counts[domain]+1)
	if c.counts[domain] == c.least && c.held[c.least] == 1 {
		least++
	}
	return least, most
}

// weigh is what one member more in the domain does to the score; false: it must not
// be there.
func (c *constraint) weigh(domain int) (change int32, allowed bool) {
	if domain == without || c.counts[domain]+1-c.least > c.maxSkew {
		if c.hard {
			return 0, false
		}
		return -penalty, true
	}
	least, most := c.after(domain)
	return int32((c.most - c.least) - (most - least)), true
}

// why it must not be there, as what is said of the member.
func (c *constraint) why(domain int) string {
	if domain == without {
		return fmt.Sprintf("does not have the label %q of the topology spread constraint", c.key)
	}
	return fmt.Sprintf("violated topology spread constraint %q (max skew %d)", c.key, c.maxSkew)
}

// alike are candidates in the same domains, which differ by their affinity and by
// name only.
type alike struct {
	domains []int
	rest    []*candidate // the best first
}

// group sorts the candidates into groups, for which the spread is the same.
func group(candidates []*candidate, constraints []*constraint) []*alike {
	byDomains := map[string]*alike{}
	var groups []*alike
	for _, c := range candidates {
		domains := make([]int, len(constraints))
		key := make([]byte, 0, 4*len(constraints))
		for i, t := range constraints {
			domains[i] = t.domain(c.member)
			key = append(strconv.AppendInt(key, int64(domains[i]), 10), ',')
		}
		g := byDomains[string(key)]
		if g == nil {
			g = &alike{domains: domains}
			byDomains[string(key)] = g
			groups = append(groups, g)
		}
		g.rest = append(g.rest, c)
	}
	for _, g := range groups {
		slices.SortFunc(g.rest, better)
	}
	return groups
}

// weigh is the spread score of the group's candidates, and why they must not be
// picked; empty: they may.
func (g *alike) weigh(constraints []*constraint) (spread int32, why string) {
	for i, c := range constraints {
		change, allowed := c.weigh(g.domains[i])
		if !allowed {
			return 0, c.why(g.domains[i])
		}
		spread += change
	}
	return spread, ""
}
