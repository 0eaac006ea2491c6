// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
)

const (
	unjoin verb = "unjoin"
	rejoin verb = "join again"
	taint  verb = "taint"
)

// offKey is the taints' key, and effects what they may be; empty: there is none.
const offKey = "example.com/off"

var effects = []corev1.TaintEffect{"", "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}

// leave has a member leave, and perhaps come back.
func (d drawer) leave() []op {
	cluster := pick(d, clusters)
	ops := []op{{verb: unjoin, cluster: cluster}}
	if d.chance(70) {
		ops = append(ops, op{verb: deliver, n: 1 + d.IntN(60), seed: d.Uint64() | 1}, op{verb: rejoin, cluster: cluster})
	}
	return ops
}

// fleetwise does what is about the members.
func (w *world) fleetwise(o op) bool {
	changed := false
	switch o.verb {
	case unjoin:
		if changed = w.hub.Unjoin(o.cluster); changed {
			w.left[o.cluster] = true
			w.strand(o.cluster)
			delete(w.safety.repels, o.cluster)
		}
	case rejoin:
		if changed = w.left[o.cluster] && w.hub.Join(o.cluster); changed {
			for _, n := range w.members[o.cluster].Restart() {
				w.announceMember(o.cluster, n)
			}
		}
	case relabel:
		if changed = w.hub.Joined(o.cluster) && w.hub.LiveLabels(o.cluster)[zoneKey] != zones[o.n]; changed {
			w.hub.LabelCluster(o.cluster, zoneKey, zones[o.n])
		}
	case approve:
		changed = w.approves(o.cluster)
	case taint:
		var taints []corev1.Taint
		if effects[o.n] != "" {
			taints = []corev1.Taint{{Key: offKey, Effect: effects[o.n]}}
		}
		if changed = w.hub.TaintCluster(o.cluster, taints...); changed {
			delete(w.safety.repels, o.cluster)
			if w.repels(nil, o.cluster) {
				w.safety.repels[o.cluster] = w.past.last() + 1
			}
		}
	}
	if changed {
		for _, b := range w.hub.LiveBindings() {
			w.letThrough(b) // what cannot be scheduled any more stays where it is
		}
	}
	return changed
}

// strand notes what a member has that leaves: it stays there.
func (w *world) strand(cluster string) {
	for _, o := range w.members[cluster].Objects() {
		if o.Work != "" {
			w.stranded[place{cluster, o.Ref.ID()}] = true
		}
	}
}

// placedIn tells whether a binding in force, of the very template, wants the object in
// the member.
func (w *world) placedIn(cluster string, ref member.Ref) bool {
	t, b := w.hub.Live(ref), w.bindingOf(ref)
	return w.hub.Joined(cluster) && t != nil && inForce(b) && b.Spec.Resource.UID == t.UID && slices.Contains(w.goesTo(b), cluster)
}

// checkRepelled checks that nothing goes anew to a cluster with a taint that it does
// not tolerate, and that was there before the attempt began.
func (w *world) checkRepelled(f *flight, old, next *propagation.Binding) {
	for _, c := range scheduledTo(next) {
		since, repels := w.safety.repels[c]
		if !repels || since > w.readable(f) || old != nil && slices.Contains(scheduledTo(old), c) || !w.repels(next.Spec.Placement, c) {
			continue
		}
		if w.workOf(next.Template(), c) == nil { // else it was there before its binding was made anew
			w.fail("%s goes to %s, whose taint it does not tolerate", next.Key, c)
		}
	}
}

// particular has some of the policies tolerate taints, some divide replicas, and others
// bound the number of clusters.
func (d drawer) particular(h []op) {
	for i := range h {
		switch o := &h[i]; o.verb {
		case putPolicy:
			if d.chance(30) {
				o.spec.Placement.ClusterTolerations = []corev1.Toleration{{Key: offKey, Operator: corev1.TolerationOpExists, Effect: pick(d, []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule})}}
			}
			switch n := d.IntN(100); {
			case n < 40:
				o.spec.Placement.ReplicaScheduling = d.division()
			case n < 60:
				least := 1 + d.IntN(2)
				o.spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: least, MaxGroups: least + d.IntN(2)}}
				o.spec.Placement.ClusterAffinity = nil
			}
		case putTemplate, replaceTemplate:
			o.content.replicas = pick(d, []int{0, 1, 2, 3, 5, 7})
		}
	}
}

func (d drawer) division() *policyv1alpha1.ReplicaSchedulingStrategy {
	s := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	switch d.IntN(4) {
	case 0:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceAggregated
	case 1:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
	default:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
		s.WeightPreference = &policyv1alpha1.ClusterPreferences{}
		for range 1 + d.IntN(3) {
			s.WeightPreference.StaticWeightList = append(s.WeightPreference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
				TargetCluster: *d.placement().ClusterAffinity, Weight: int64(1 + d.IntN(3)),
			})
		}
	}
	return s
}
