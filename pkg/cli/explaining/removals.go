// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/core/scheduling/filters"
)

// Removal is the removal of a template from a cluster that is held.
type Removal struct {
	Cluster  string                  `json:"cluster"`
	Template propagation.TemplateKey `json:"template"`
	// Policy that holds the template; absent: none does.
	Policy *propagation.PolicyKey `json:"policy,omitempty"`
	Since  time.Time              `json:"since,omitzero"`
	Why    string                 `json:"why"`
	// Inside is the Work that holds the removal because objects of others would be
	// deleted, too; Why says which.
	Inside *propagation.WorkKey `json:"inside,omitempty"`
}

// Removals returns the held removals of the bindings, by cluster.
func (w World) Removals(bindings []*propagation.Binding) []Removal {
	var out []Removal
	for _, b := range bindings {
		for _, cluster := range b.HeldRemovals() {
			out = append(out, w.removal(b, cluster))
		}
	}
	slices.SortFunc(out, order)
	return out
}

func order(x, y Removal) int {
	return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Template.Namespace, y.Template.Namespace), cmp.Compare(x.Template.ID(), y.Template.ID()))
}

func (w World) removal(b *propagation.Binding, cluster string) Removal {
	r := Removal{Cluster: cluster, Template: b.Template(), Since: b.Removals()[cluster].Held, Why: w.rejects(b.WithRemovals(nil), cluster)}
	if claim := b.Claim(); claim.Held() {
		r.Policy = &claim.Policy
	}
	return r
}

// rejects returns why the binding leaves a cluster out.
func (w World) rejects(b *propagation.Binding, cluster string) string {
	i := slices.IndexFunc(w.Clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == cluster })
	if i < 0 {
		return "is not joined"
	}
	return cmp.Or(filters.Reject(filters.Input{Binding: b, Affinity: w.affinity(b), Cluster: w.Clusters[i]}), "others come first")
}

// affinity returns the cluster affinity of the placement that is in use; nil: there is
// none.
func (w World) affinity(b *propagation.Binding) *policyv1alpha1.ClusterAffinity {
	if b.Spec.Placement == nil {
		return nil
	}
	affinity := b.Spec.Placement.ClusterAffinity
	name := scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters}).Affinity
	for i := range b.Spec.Placement.ClusterAffinities {
		if term := &b.Spec.Placement.ClusterAffinities[i]; term.AffinityName == name {
			affinity = &term.ClusterAffinity
		}
	}
	return affinity
}

// WithCluster returns the world with the cluster added or replaced.
func (w World) WithCluster(c *clusterv1alpha1.Cluster) World {
	w.Clusters = append(slices.DeleteFunc(slices.Clone(w.Clusters), func(o *clusterv1alpha1.Cluster) bool { return o.Name == c.Name }), c)
	return w
}

// Losses returns the templates of these bindings that members would lose at once, and
// whether the removals would be held; works are the present Works.
func (w World) Losses(bindings []*propagation.Binding, works []*propagation.Work, now time.Time) []Loss {
	var after []*propagation.Binding
	removals, gone := map[string][]Removal{}, map[string]int{}
	for _, b := range bindings {
		draft := budget.Of(b, w.Clusters)
		next, _ := draft.Schedule(w.Features.Budget, now)
		after = append(after, next)
		for _, cluster := range draft.Lost() {
			removals[cluster] = append(removals[cluster], w.removal(next, cluster))
			if !next.HoldsRemoval(cluster) {
				gone[cluster]++
			}
		}
	}
	members := budget.World{Clusters: w.Clusters, Bindings: after, Mode: w.Features.Budget, Now: now}.Members(works)
	var out []Loss
	for cluster, all := range removals {
		l := Loss{Cluster: cluster, Removals: all, Asked: gone[cluster]}
		for _, m := range members {
			if m.Cluster == cluster {
				l.Held, l.Limit = m.Over(w.Features.Budget), budget.Limit(m.Has)
			}
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// Loss is what one member would lose.
type Loss struct {
	Cluster  string    `json:"cluster"`
	Removals []Removal `json:"removals"`
	// Asked is how many of the removals are not subject to the budget, because somebody
	// asked for them.
	Asked int `json:"asked,omitempty"`
	// Held reports whether the other removals are held until they are approved.
	Held  bool `json:"held,omitempty"`
	Limit int  `json:"limit,omitempty"`
}

// String returns the loss for people.
func (l Loss) String() string {
	indirect := len(l.Removals) - l.Asked
	switch {
	case l.Held && l.Asked > 0:
		return fmt.Sprintf("%d would leave %s; %d more are held: %d may leave within ten minutes", l.Asked, l.Cluster, indirect, l.Limit)
	case l.Held:
		return fmt.Sprintf("%d would leave %s and are held: %d may leave within ten minutes", indirect, l.Cluster, l.Limit)
	}
	return fmt.Sprintf("%d would leave %s", len(l.Removals), l.Cluster)
}
