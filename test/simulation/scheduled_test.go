// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// This file is where a binding's placement lets its template go, and how many
// replicas each cluster gets. Where the placement leaves a choice, the model says what
// any choice has to be like.

// scheduledTo are the clusters that the scheduler chose.
func scheduledTo(b *propagation.Binding) []string {
	var names []string
	for _, c := range b.Spec.Clusters {
		names = append(names, c.Name)
	}
	return names
}

// eligible are the clusters that the binding's placement allows: those that are joined,
// that it names, that have a weight, and whose taints it tolerates, unless the template
// is there already.
func (w *world) eligible(b *propagation.Binding) []string {
	names := slices.DeleteFunc(targets(b.Spec.Placement, w.joined()), func(c string) bool {
		return w.repels(b.Spec.Placement, c) && !slices.Contains(scheduledTo(b), c) || !holds(b, c) && b.Spec.Placement != nil && !w.selects(b.Spec.Placement.ClusterAffinity, c)
	})
	weights := weightsOf(b.Spec.Placement, names)
	if w.replicasOf(b) == 0 {
		return names
	}
	return slices.DeleteFunc(names, func(c string) bool { return weights[c] == 0 })
}

// repels tells whether the cluster has a taint that keeps out what is not there.
func (w *world) repels(p *policyv1alpha1.Placement, cluster string) bool {
	return slices.ContainsFunc(w.hub.LiveTaints(cluster), func(t corev1.Taint) bool {
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			return false
		}
		return p == nil || !slices.ContainsFunc(p.ClusterTolerations, func(o corev1.Toleration) bool {
			return o.Key == t.Key && (o.Effect == "" || o.Effect == t.Effect)
		})
	})
}

// wants are the clusters that the placement wants the template on. What it divides
// goes where the scheduler chose, if that choice is one; what it cannot satisfy stays
// where it is.
func (w *world) wants(b *propagation.Binding) []string {
	names := w.eligible(b)
	switch {
	case w.stuck(b):
		return slices.DeleteFunc(scheduledTo(b), func(c string) bool { return !w.hub.Joined(c) })
	case w.divides(b) && w.misdivided(b) == "", spreads(b) && w.misspread(b) == "":
		return scheduledTo(b)
	}
	return names
}

// spreads tells whether the placement bounds the number of clusters.
func spreads(b *propagation.Binding) bool {
	return b.Spec.Placement != nil && len(b.Spec.Placement.SpreadConstraints) > 0
}

// stuck tells whether the placement cannot be satisfied, or names a cluster that is not
// there in place of one that has the template: what it is for stays where it is.
func (w *world) stuck(b *propagation.Binding) bool {
	n := len(w.eligible(b))
	return n == 0 || spreads(b) && n < b.Spec.Placement.SpreadConstraints[0].MinGroups || w.misnames(b)
}

// misnames tells whether the placement names a cluster that is not there, and not one
// that is there and has the template.
func (w *world) misnames(b *propagation.Binding) bool {
	if b.Spec.Placement == nil || b.Spec.Placement.ClusterAffinity == nil {
		return false
	}
	names := b.Spec.Placement.ClusterAffinity.ClusterNames
	if len(names) == 0 {
		return false
	}
	absent := slices.ContainsFunc(names, func(c string) bool { return !w.hub.Joined(c) })
	return absent && slices.ContainsFunc(scheduledTo(b), func(c string) bool { return w.hub.Joined(c) && !slices.Contains(names, c) })
}

// misspread says in what the binding's clusters are not as many of the eligible as its
// placement asks for; empty: they are.
func (w *world) misspread(b *propagation.Binding) string {
	names := w.eligible(b)
	for _, c := range scheduledTo(b) {
		if !slices.Contains(names, c) {
			return c + " is not to have it"
		}
	}
	if most := min(len(names), b.Spec.Placement.SpreadConstraints[0].MaxGroups); len(scheduledTo(b)) != most {
		return sprintf("it has %d clusters, want %d", len(scheduledTo(b)), most)
	}
	return ""
}

// replicasOf is how many replicas the content asks for that is in force.
func (w *world) replicasOf(b *propagation.Binding) int64 {
	spec, _ := w.safety.contents.byHash[b.ActedHash()].object["spec"].(map[string]any)
	n, _ := spec["replicas"].(int64)
	return n
}

// divides tells whether the clusters share the replicas.
func (w *world) divides(b *propagation.Binding) bool {
	p := b.Spec.Placement
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDuplicated && w.replicasOf(b) > 0
}

// weighed tells whether somebody asked for a fixed proportion.
func weighed(p *policyv1alpha1.Placement) bool {
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.WeightPreference != nil
}

// weightsOf are the clusters' weights: each its greatest, those that nobody weighs
// none, or all the same where none of them is weighed.
func weightsOf(p *policyv1alpha1.Placement, names []string) map[string]int64 {
	out, some := map[string]int64{}, false
	for _, c := range names {
		if !weighed(p) {
			continue
		}
		for _, e := range p.ReplicaScheduling.WeightPreference.StaticWeightList {
			if slices.Contains(e.TargetCluster.ClusterNames, c) {
				out[c], some = max(out[c], e.Weight), true
			}
		}
	}
	for _, c := range names {
		if !some {
			out[c] = 1
		}
	}
	return out
}

// misdivided says in what the binding's clusters are no division of the replicas, as
// its placement asks for it; empty: they are one.
func (w *world) misdivided(b *propagation.Binding) string {
	n, names := w.replicasOf(b), w.eligible(b)
	weights, has := weightsOf(b.Spec.Placement, names), map[string]int64{}
	sum, all := int64(0), int64(0)
	for _, c := range b.Spec.Clusters {
		switch {
		case !slices.Contains(names, c.Name):
			return c.Name + " is not to have it"
		case c.Replicas <= 0:
			return c.Name + " has it without replicas"
		}
		has[c.Name] = int64(c.Replicas)
		sum += int64(c.Replicas)
	}
	if sum != n {
		return sprintf("%d replicas are divided, and it has %d", sum, n)
	}
	if !weighed(b.Spec.Placement) {
		return "" // each cluster keeps what it has, and how it came by that is past
	}
	for _, c := range names {
		all += weights[c]
	}
	for _, c := range names {
		// Nobody is further than one from its due, and who has more than that left less
		// over than nobody who has less.
		due, over := n*weights[c]/all, n*weights[c]%all
		if has[c] != due && (has[c] != due+1 || over == 0) {
			return sprintf("%s has %d replicas, and %d/%d of %d are due", c, has[c], weights[c], all, n)
		}
		for _, o := range names {
			if has[c] > due && has[o] == n*weights[o]/all && n*weights[o]%all > over {
				return sprintf("%s has one more than its due, and %s, of which more was left over, has not", c, o)
			}
		}
	}
	return ""
}

// share is how many replicas a cluster has to get. Where no cluster fits each keeps
// what it has.
func (w *world) share(b *propagation.Binding, cluster string) int64 {
	if w.divides(b) || w.stuck(b) && w.replicasOf(b) > 0 {
		for _, c := range b.Spec.Clusters {
			if c.Name == cluster {
				return int64(c.Replicas)
			}
		}
	}
	return w.replicasOf(b)
}

// checkScheduled checks that a binding goes where its placement wants it.
func (w *world) checkScheduled(b *propagation.Binding) {
	if formIn(b) == "" || w.stuck(b) {
		return
	}
	if w.divides(b) {
		if why := w.misdivided(b); why != "" {
			w.fail("%s is scheduled to %v: %s", b.Key, b.Spec.Clusters, why)
		}
		return
	}
	if spreads(b) {
		if why := w.misspread(b); why != "" {
			w.fail("%s is scheduled to %v: %s", b.Key, scheduledTo(b), why)
		}
	} else if want := w.eligible(b); !slices.Equal(scheduledTo(b), want) {
		w.fail("%s is scheduled to %v, and its placement wants %v", b.Key, scheduledTo(b), want)
	}
	for _, c := range b.Spec.Clusters {
		if int64(c.Replicas) != w.replicasOf(b) {
			w.fail("%s has %d replicas in %s, want %d", b.Key, c.Replicas, c.Name, w.replicasOf(b))
		}
	}
}
