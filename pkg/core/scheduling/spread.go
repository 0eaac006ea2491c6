// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/filters"
)

// candidate is a cluster that may get the template.
type candidate struct {
	name string
	// present tells whether the template is there already, held how many of
	// its replicas.
	present bool
	held    int64
	// weight is its share of divided replicas, relative to the others'.
	weight int64
	// room is how many replicas more it has room for, where they are divided by that.
	room Room
	// groups are those that it is in, one for each of the binding's GroupConstraints.
	groups []string
}

// candidates are the clusters that fit, in the order of preference: those with
// the greater weight, then those that have the template, then, of the others, those
// with more room, then by name. Those without a weight are none where there are
// replicas to divide. Measured: replicas are divided by room, and that of each is known.
func candidates(b *propagation.Binding, p policyv1alpha1.Placement, fit []*clusterv1alpha1.Cluster) (out []candidate, measured bool) {
	weights := weigh(p.ReplicaScheduling, fit)
	constraints := b.GroupConstraints()
	byRoom := b.Spec.Replicas > 0 && propagation.ByRoom(&p)
	var needs corev1.ResourceList
	if byRoom {
		needs = replicaRequests(b.Spec.ReplicaRequirements)
	}
	out = make([]candidate, 0, len(fit))
	for i, c := range fit {
		if weights[i] == 0 && b.Spec.Replicas > 0 {
			continue
		}
		next := candidate{name: c.Name, weight: weights[i]}
		if byRoom {
			next.room = roomIn(c, needs)
		}
		for _, by := range constraints {
			next.groups = append(next.groups, filters.GroupOf(by, c))
		}
		for _, t := range b.Spec.Clusters {
			if t.Name == c.Name {
				next.present, next.held = true, max(0, int64(t.Replicas))
			}
		}
		out = append(out, next)
	}
	measured = byRoom && !slices.ContainsFunc(out, func(c candidate) bool { return c.room.Unknown != "" })
	// Among groups room has no say: which clusters are taken for them depends on all.
	roomy := measured && len(constraints) == 0
	slices.SortFunc(out, func(a, b candidate) int {
		order := cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.absence(), b.absence()))
		if order == 0 && roomy && !a.present {
			order = cmp.Compare(b.room.Replicas, a.room.Replicas)
		}
		return cmp.Or(order, cmp.Compare(a.name, b.name))
	})
	return out, measured
}

func (c candidate) absence() int {
	if c.present {
		return 0
	}
	return 1
}

// choose cuts the candidates to the number of clusters, and of groups, that the
// constraints allow.
func choose(cs []candidate, constraints, byGroup []policyv1alpha1.SpreadConstraint) (chosen []candidate, why string) {
	least, most := 1, len(cs)
	for _, s := range constraints {
		if propagation.ByGroup(s) {
			continue
		}
		least = max(least, s.MinGroups)
		if s.MaxGroups > 0 {
			most = min(most, s.MaxGroups)
		}
	}
	if len(cs) < least {
		return nil, fmt.Sprintf("the spread constraint wants at least %d", least)
	}
	return spread(cs, byGroup, least, most)
}
