// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/filters"
)

// ReasonSuspended is the reason of Scheduled while somebody holds back the
// scheduling of the binding.
const ReasonSuspended = "SchedulingSuspended"

// Input is all that a decision depends on.
type Input struct {
	Binding *propagation.Binding
	// Clusters are all that are joined, in any order.
	Clusters []*clusterv1alpha1.Cluster
}

// Decision is where the template goes.
type Decision struct {
	// Targets are sorted by name. Where the template has no replicas, neither
	// have they.
	Targets []workv1alpha2.TargetCluster
	// Condition is Scheduled. Its time and its generation are the caller's.
	Condition metav1.Condition
	// Affinity is the name of the term of clusterAffinities that was used;
	// empty: the placement has none, or none fits.
	Affinity string
	// Unschedulable tells that the placement could not be satisfied.
	Unschedulable bool
	// Rooms are those of the clusters that may have the template, sorted, where its
	// replicas are divided by room. Where that of one is not known, none of them counts.
	Rooms []Room
}

// Decide chooses the clusters. Where none fits, there are no targets; where some
// fit and yet the placement cannot be satisfied, names a cluster that is not joined
// in place of one that has the template, or finds no room for the replicas, the targets
// stay as they are.
//
// What cannot be scheduled is not moved: the caller leaves it where it is. A lack of room
// in the clusters of one term is no reason to try those of the next: once there is room
// again, all replicas would move back.
func Decide(in Input) Decision {
	spec := &in.Binding.Spec
	switch {
	case spec.Suspension.SchedulingSuspended():
		return refuse(spec.Clusters, ReasonSuspended, "Scheduling of the binding is suspended.")
	case spec.Placement == nil && follows(in.Binding):
		return accept(nil, "", "The template follows those that refer to it.")
	}
	clusters := byName(in.Clusters)
	placement := policyv1alpha1.Placement{}
	if spec.Placement != nil {
		placement = *spec.Placement
	}
	var tried []attempt
	for _, term := range terms(placement) {
		a := try(in.Binding, placement, term, clusters)
		if a.full {
			d := refuseAll(append(tried, a), len(clusters), spec.Clusters)
			d.Rooms = a.rooms
			return d
		}
		if a.why != "" {
			tried = append(tried, a)
			continue
		}
		why := cmp.Or(misnamed(in.Binding, terms(placement), clusters, a.targets), misweighed(in.Binding, placement.ReplicaScheduling, clusters, a))
		if why != "" {
			return refuse(spec.Clusters, workv1alpha2.ReasonUnschedulable, why)
		}
		d := accept(a.targets, term.AffinityName, a.success())
		d.Rooms = a.rooms
		return d
	}
	return refuseAll(tried, len(clusters), spec.Clusters)
}

// follows tells whether the binding goes where others take it: they refer to its
// template, or did so, and no policy ever acted on it.
func follows(b *propagation.Binding) bool {
	return len(b.Spec.RequiredBy) > 0 || b.ActedHash() != "" && b.Annotations[propagation.AnnotationActivePolicy] == ""
}

// Settled tells whether the binding's clusters are those that its placement asks
// for, as far as it can be satisfied. Until then nothing may be rendered: new
// content would reach clusters that the new placement does not want. The
// clusters of a binding that another scheduler serves are taken as they are.
func Settled(in Input) bool {
	spec := &in.Binding.Spec
	if spec.Placement == nil || in.Binding.ForeignScheduler() != "" {
		return true
	}
	d := Decide(in)
	return d.Unschedulable || equality.Semantic.DeepEqual(d.Targets, spec.Clusters)
}

// Forsaken tells whether all clusters that the binding names have left. It left others
// out beside these: where none of them is there any more, its placement can be satisfied
// by none that it chose, and nothing moves because of it.
func Forsaken(in Input) bool {
	targets := in.Binding.TargetClusters()
	return len(targets) > 0 && !slices.ContainsFunc(in.Clusters, func(c *clusterv1alpha1.Cluster) bool {
		return slices.Contains(targets, c.Name)
	})
}

func accept(targets []workv1alpha2.TargetCluster, affinity, message string) Decision {
	return Decision{Targets: targets, Affinity: affinity, Condition: metav1.Condition{
		Type: workv1alpha2.ConditionScheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonSuccess, Message: message,
	}}
}

func refuse(targets []workv1alpha2.TargetCluster, reason, message string) Decision {
	return Decision{Targets: sorted(targets), Unschedulable: true, Condition: metav1.Condition{
		Type: workv1alpha2.ConditionScheduled, Status: metav1.ConditionFalse, Reason: reason, Message: message,
	}}
}

// terms are the affinities to try, in order. A placement without any has one
// term that any cluster satisfies.
func terms(p policyv1alpha1.Placement) []policyv1alpha1.ClusterAffinityTerm {
	if len(p.ClusterAffinities) > 0 {
		return p.ClusterAffinities
	}
	if p.ClusterAffinity != nil {
		return []policyv1alpha1.ClusterAffinityTerm{{ClusterAffinity: *p.ClusterAffinity}}
	}
	return []policyv1alpha1.ClusterAffinityTerm{{}}
}

// attempt is what became of one term.
type attempt struct {
	term    policyv1alpha1.ClusterAffinityTerm
	targets []workv1alpha2.TargetCluster
	// absent are the clusters that the term names and that are not joined.
	absent []string
	// refused are the clusters that may not have it: "member2 is excluded".
	refused []string
	// weightless are the clusters that may have it, and that no weight is given to.
	weightless []string
	// kept are the targets whose removal is held.
	kept []string
	// fit is the number of clusters that may have it.
	fit int
	// why the placement cannot be satisfied; empty: it is.
	why string
	// full: the replicas do not fit into the clusters, of which rooms tells.
	full  bool
	rooms []Room
}

// try filters, chooses and divides for one term.
func try(b *propagation.Binding, p policyv1alpha1.Placement, term policyv1alpha1.ClusterAffinityTerm, clusters []*clusterv1alpha1.Cluster) attempt {
	a := attempt{term: term, absent: absent(term.ClusterNames, clusters)}
	var fit []*clusterv1alpha1.Cluster
	kept := keeping(b)
	for _, c := range clusters {
		if why := filters.Reject(filters.Input{Binding: b, Affinity: &term.ClusterAffinity, Cluster: c, Kept: kept[c.Name]}); why != "" {
			a.refused = append(a.refused, c.Name+" "+why)
			continue
		}
		fit = append(fit, c)
	}
	cs, measured := candidates(b, p, fit)
	if a.fit = len(cs); a.fit == 0 {
		a.why = "no cluster fits"
		return a
	}
	for _, c := range fit {
		if !slices.ContainsFunc(cs, func(o candidate) bool { return o.name == c.Name }) {
			a.weightless, a.refused = append(a.weightless, c.Name), append(a.refused, c.Name+" has no weight")
		}
	}
	if b.Spec.Replicas > 0 && propagation.ByRoom(&p) {
		a.rooms = roomsOf(cs)
	}
	chosen, why := choose(cs, p.SpreadConstraints, b.GroupConstraints())
	if a.why = why; why != "" {
		return a
	}
	shares, fits := assign(b.Spec.Replicas, p.ReplicaScheduling, chosen, measured)
	if a.full = !fits; a.full {
		a.why = noRoom(int64(b.Spec.Replicas), chosen)
		var each []string
		for _, room := range roomsOf(chosen) {
			each = append(each, room.String())
		}
		a.refused = append(each, a.refused...)
		return a
	}
	a.targets, a.kept = keep(b, kept, clusters, shares)
	return a
}

// byName are the clusters in the order of their names, each once.
func byName(clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	out := slices.Clone(clusters)
	slices.SortFunc(out, func(a, b *clusterv1alpha1.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b *clusterv1alpha1.Cluster) bool { return a.Name == b.Name })
}

// absent are those of names that no cluster has, sorted.
func absent(names []string, clusters []*clusterv1alpha1.Cluster) []string {
	var out []string
	for _, n := range names {
		if !slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == n }) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sorted(targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	out := slices.Clone(targets)
	slices.SortFunc(out, func(a, b workv1alpha2.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
