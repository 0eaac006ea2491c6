// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
)

// Window is how long a removal that the budget allowed counts against the budget.
const Window = 10 * time.Minute

// Draft is how a binding would be scheduled if nothing were held.
type Draft struct {
	// was is the binding as it was read. binding is the same with the clusters that have
	// the template; of a recreated binding the Works tell these (Remade).
	binding  *propagation.Binding
	was      *propagation.Binding
	clusters []*clusterv1alpha1.Cluster
	free     scheduling.Decision
	lost     []string
}

// Of drafts the scheduling of a binding.
func Of(b *propagation.Binding, clusters []*clusterv1alpha1.Cluster) Draft {
	free := b
	if b.Annotations[propagation.AnnotationRemovals] != "" {
		free = b.WithRemovals(nil)
	}
	d := Draft{binding: b, was: b, clusters: clusters, free: scheduling.Decide(scheduling.Input{Binding: free, Clusters: clusters})}
	if d.free.Unschedulable || b.Spec.Placement == nil || b.ForeignScheduler() != "" {
		return d
	}
	for _, t := range b.Spec.Clusters {
		stays := slices.ContainsFunc(d.free.Targets, func(o workv1alpha2.TargetCluster) bool { return o.Name == t.Name })
		if !stays && joined(t.Name, clusters) && !evicted(b, t.Name) {
			d.lost = append(d.lost, t.Name)
		}
	}
	slices.Sort(d.lost)
	return d
}

// Remade is Of for a binding that names no cluster, which may have been deleted and
// created again: its Works tell where its template is.
func Remade(b *propagation.Binding, works []*propagation.Work, clusters []*clusterv1alpha1.Cluster) Draft {
	d := Of(placedBy(b, works), clusters)
	d.was = b
	return d
}

// placedBy returns the binding with the clusters added that its Works name. Counted are
// Works of this very template (its uid) that follow from the binding's own placement,
// not those of a dependency.
func placedBy(b *propagation.Binding, works []*propagation.Work) *propagation.Binding {
	next, known := *b, b.TargetClusters()
	next.Spec.Clusters = slices.Clone(b.Spec.Clusters)
	for _, w := range works {
		if !w.Places(b.Key, b.TemplateUID()) || slices.Contains(known, w.Key.Cluster) {
			continue
		}
		next.Spec.Clusters = append(next.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.Key.Cluster, Replicas: replicas(b, w)})
	}
	slices.SortFunc(next.Spec.Clusters, func(a, b workv1alpha2.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
	return &next
}

// replicas returns how many of the template's replicas the Work's manifest asks for.
func replicas(b *propagation.Binding, w *propagation.Work) int32 {
	if n, said := w.Replicas(); said && b.Spec.Replicas > 0 {
		return min(max(n, 0), b.Spec.Replicas)
	}
	return b.Spec.Replicas
}

// Lost returns the clusters that have the template and would be left out, sorted. The
// budget limits these removals.
func (d Draft) Lost() []string { return d.lost }

// Asked reports whether a person asked for the change: the placement or the replicas
// were edited, or another policy took effect.
func (d Draft) Asked() bool {
	was := d.binding.Annotations[propagation.AnnotationScheduledFor]
	return was != "" && was != scheduledFor(d.binding)
}

// Schedule is scheduling.Decide within the budget. It returns the scheduled binding,
// which records the removals that are held, and the decision. Where nothing changes it
// returns the binding itself.
func (d Draft) Schedule(mode propagation.RemovalBudget, now time.Time) (*propagation.Binding, scheduling.Decision) {
	b, decision, removals := d.binding, d.free, d.removals(mode, now.UTC().Truncate(time.Millisecond))
	next, pending := b, held(removals)
	if len(pending) > 0 || b.Annotations[propagation.AnnotationRemovals] != "" {
		next = b.WithRemovals(removals)
	}
	if len(pending) > 0 {
		decision = scheduling.Decide(scheduling.Input{Binding: next, Clusters: d.clusters})
	}
	targets := b.Spec.Clusters
	if !decision.Unschedulable {
		targets = decision.Targets
	}
	moved := !equality.Semantic.DeepEqual(targets, d.was.Spec.Clusters)
	known := b.Annotations[propagation.AnnotationScheduledFor]
	record := known
	if !decision.Unschedulable && (moved || known != "") {
		record = scheduledFor(b)
	}
	term := chosenBy(b, decision, moved || record != known)
	if !moved && record == known && term == b.Annotations[propagation.AnnotationAffinity] && maps.Equal(held(b.Removals()), pending) {
		return d.was, decision
	}
	next = b.WithRemovals(removals)
	if record != "" {
		next.Annotations[propagation.AnnotationScheduledFor] = record
	}
	delete(next.Annotations, propagation.AnnotationAffinity)
	if term != "" {
		next.Annotations[propagation.AnnotationAffinity] = term
	}
	if moved {
		next.Spec.Clusters = targets
	}
	return next, decision
}

// chosenBy returns the name of the clusterAffinities term that the binding's clusters
// were chosen by. A binding that does not record it yet is not written for that alone.
func chosenBy(b *propagation.Binding, d scheduling.Decision, written bool) string {
	said := b.Annotations[propagation.AnnotationAffinity]
	if d.Unschedulable || said == "" && !written {
		return said
	}
	return d.Affinity
}

// removals returns the removals that the binding records once it is scheduled.
func (d Draft) removals(mode propagation.RemovalBudget, now time.Time) map[string]propagation.Removal {
	before, next := d.binding.Removals(), map[string]propagation.Removal{}
	for cluster, r := range before {
		if !r.Left.IsZero() && now.Sub(r.Left) < Window {
			next[cluster] = propagation.Removal{Left: r.Left}
		}
	}
	if mode == propagation.BudgetOff {
		return next
	}
	for _, cluster := range d.lost {
		switch r := before[cluster]; {
		case r.Approved:
		case r.Goes():
			next[cluster] = propagation.Removal{Left: r.Let}
		case mode != propagation.BudgetAll && leftOutByName(d.binding.Spec.Placement, cluster):
		case r.Holds():
			next[cluster] = r
		case mode == propagation.BudgetAll || !d.Asked():
			next[cluster] = propagation.Removal{Held: now, Left: next[cluster].Left}
		}
	}
	return next
}

// leftOutByName reports whether the placement excludes the cluster by name, or lists
// only others by name. No label could bring it back, so a person asked for that
// removal.
func leftOutByName(p *policyv1alpha1.Placement, cluster string) bool {
	out := func(a *policyv1alpha1.ClusterAffinity) bool {
		return a != nil && (slices.Contains(a.ExcludeClusters, cluster) || len(a.ClusterNames) > 0 && !slices.Contains(a.ClusterNames, cluster))
	}
	if p == nil || len(p.ClusterAffinities) == 0 {
		return p != nil && out(p.ClusterAffinity)
	}
	return !slices.ContainsFunc(p.ClusterAffinities, func(t policyv1alpha1.ClusterAffinityTerm) bool { return !out(&t.ClusterAffinity) })
}

func joined(name string, clusters []*clusterv1alpha1.Cluster) bool {
	return slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == name && c.DeletionTimestamp == nil })
}

// evicted reports whether the binding has an eviction task for the cluster.
func evicted(b *propagation.Binding, cluster string) bool {
	for _, t := range b.Spec.GracefulEvictionTasks {
		if t.FromCluster == cluster {
			return true
		}
	}
	return false
}

// scheduledFor returns the hash of what the choice of clusters depends on, apart from
// the clusters themselves.
func scheduledFor(b *propagation.Binding) string {
	return propagation.HashJSON(map[string]any{"placement": b.Spec.Placement, "replicas": b.Spec.Replicas})
}

// held returns the removals that are not done yet: those that are held, and those that
// are allowed and not scheduled yet.
func held(removals map[string]propagation.Removal) map[string]propagation.Removal {
	out := map[string]propagation.Removal{}
	for cluster, r := range removals {
		if !r.Held.IsZero() {
			out[cluster] = r
		}
	}
	return out
}
