// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"fmt"
	"slices"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/scheduling/filters"
)

// group is the candidates that are alike in what a constraint spreads over.
type group struct {
	name    string
	size    int
	present int
	// weight is the greatest of its candidates.
	weight int64
}

// groupsOf returns the groups for the constraint of that index, in the order of
// preference: those of a greater weight, then those that have more of the template, then
// in the order of the candidates.
func groupsOf(cs []candidate, constraint int) []group {
	var out []group
	for _, c := range cs {
		i := slices.IndexFunc(out, func(g group) bool { return g.name == c.groups[constraint] })
		if i < 0 {
			i, out = len(out), append(out, group{name: c.groups[constraint], weight: c.weight})
		}
		out[i].size++
		out[i].present += 1 - c.absence()
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.present, a.present))
	})
	return out
}

// spread cuts the candidates to groups that the constraints allow, and then to most
// clusters, among which are as many groups as the constraints want. The constraints are
// met one after the other: of two that can be met together in a roundabout way alone, it
// may say that they cannot.
func spread(cs []candidate, constraints []policyv1alpha1.SpreadConstraint, least, most int) (chosen []candidate, why string) {
	for i, by := range constraints {
		if cs, why = within(cs, i, by, least, most); why != "" {
			return nil, why
		}
	}
	return cover(cs, constraints, most)
}

// within cuts the candidates to as many groups as the constraint allows, the preferred
// ones as far as all together have at least so many candidates.
func within(cs []candidate, constraint int, by policyv1alpha1.SpreadConstraint, least, most int) (chosen []candidate, why string) {
	rest := groupsOf(cs, constraint)
	head := "the spread constraint by " + filters.Topology(by) + " wants at least "
	if by.MinGroups > len(rest) {
		return nil, fmt.Sprintf("%s%d groups and finds %d", head, by.MinGroups, len(rest))
	}
	if by.MinGroups > most {
		return nil, fmt.Sprintf("%s%d groups, of at most %d clusters", head, by.MinGroups, most)
	}
	n := min(len(rest), most)
	if by.MaxGroups > 0 {
		n = min(n, by.MaxGroups)
	}
	picked, size := map[string]bool{}, 0
	for len(picked) < n {
		i := slices.IndexFunc(rest, func(g group) bool {
			others := slices.DeleteFunc(slices.Clone(rest), func(o group) bool { return o.name == g.name })
			return size+g.size+largest(others, n-len(picked)-1) >= least
		})
		if i < 0 {
			return nil, fmt.Sprintf("no %d groups by %s have the %d clusters that the spread constraint wants", n, filters.Topology(by), least)
		}
		picked[rest[i].name], size = true, size+rest[i].size
		rest = slices.Delete(rest, i, i+1)
	}
	return slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return !picked[c.groups[constraint]] }), ""
}

// largest is how many candidates the n largest groups have.
func largest(groups []group, n int) int {
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(b.size, a.size) })
	total := 0
	for _, g := range groups[:min(n, len(groups))] {
		total += g.size
	}
	return total
}

// cover chooses most candidates: first those by which each constraint has as many groups
// as it wants, then the preferred ones.
func cover(cs []candidate, constraints []policyv1alpha1.SpreadConstraint, most int) (chosen []candidate, why string) {
	seen := make([]map[string]bool, len(constraints))
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	wanted := func(c candidate) bool {
		for i, by := range constraints {
			if len(seen[i]) < by.MinGroups && !seen[i][c.groups[i]] {
				return true
			}
		}
		return false
	}
	taken := map[string]bool{}
	take := func(c candidate) {
		taken[c.name] = true
		for i := range constraints {
			seen[i][c.groups[i]] = true
		}
	}
	for _, c := range cs {
		if len(taken) < most && wanted(c) {
			take(c)
		}
	}
	for _, c := range cs {
		if len(taken) < most && !taken[c.name] {
			take(c)
		}
	}
	for i, by := range constraints {
		if len(seen[i]) < by.MinGroups {
			return nil, fmt.Sprintf("the spread constraint by %s wants at least %d groups, and together with the others finds %d", filters.Topology(by), by.MinGroups, len(seen[i]))
		}
	}
	return slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return !taken[c.name] }), ""
}
