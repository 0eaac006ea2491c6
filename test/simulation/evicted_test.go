// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// asking is what the scheduler read when it decided about evictions.
type asking struct {
	evictions []*placementv1.ClusterResourcePlacementEviction
	bindings  []*placementv1.ClusterResourceBinding
	budget    *placementv1.ClusterResourcePlacementDisruptionBudget
	// picked are the members that were picked before.
	picked []string
	// gone are the members that it gave up, one after the other.
	gone []string
}

// Evictions answers as the hub does.
func (h decidersHub) Evictions(ctx context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	all, err := h.Hub.Evictions(ctx)
	if f := flightOf(ctx); f != nil {
		f.asking = asking{evictions: all}
	}
	return all, err
}

// PlacementBindingsOf answers as the hub does.
func (h decidersHub) PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	all, err := h.Hub.PlacementBindingsOf(ctx, placement)
	if f := flightOf(ctx); f != nil && f.asking.bindings == nil {
		f.asking.bindings = all
	}
	return all, err
}

// DisruptionBudget answers as the hub does.
func (h decidersHub) DisruptionBudget(ctx context.Context, placement string) (*placementv1.ClusterResourcePlacementDisruptionBudget, error) {
	b, err := h.Hub.DisruptionBudget(ctx, placement)
	if f := flightOf(ctx); f != nil && err == nil {
		f.asking.budget = b
	}
	return b, err
}

// asked tells whether an eviction that nobody had decided names the member.
func (a asking) asked(placement, cluster string) bool {
	return slices.ContainsFunc(a.evictions, func(e *placementv1.ClusterResourcePlacementEviction) bool {
		return e.Spec.PlacementName == placement && e.Spec.ClusterName == cluster && !decided(e)
	})
}

func decided(e *placementv1.ClusterResourcePlacementEviction) bool {
	return meta.IsStatusConditionFalse(e.Status.Conditions, placementv1.ConditionEvictionValid) ||
		meta.FindStatusCondition(e.Status.Conditions, placementv1.ConditionEvictionExecuted) != nil
}

// checkEviction checks what the scheduler just decided about an eviction, by what it read.
func (w *world) checkEviction(f *flight, old, next *placementv1.ClusterResourcePlacementEviction) {
	name, cluster := next.Spec.PlacementName, next.Spec.ClusterName
	var b *placementv1.ClusterResourceBinding
	left := 0
	for _, o := range f.asking.bindings {
		switch {
		case o.DeletionTimestamp != nil || o.Spec.State == placementv1.BindingStateUnscheduled:
		case o.Spec.TargetCluster == cluster:
			b = o
		case available(o) && !slices.Contains(f.asking.gone, o.Spec.TargetCluster):
			left++
		}
	}
	p := w.hub.LivePlacement(name)
	fixed := p != nil && p.Spec.Policy != nil && p.Spec.Policy.PlacementType == placementv1.PickFixedPlacementType
	executed := meta.IsStatusConditionTrue(next.Status.Conditions, placementv1.ConditionEvictionExecuted)
	switch {
	case decided(old):
		w.fail("%s was decided, and says %+v now", next.Name, next.Status.Conditions)
	case !decided(next):
		w.fail("%s was looked at, and is not decided: %+v", next.Name, next.Status.Conditions)
	case executed && fixed:
		w.fail("%s takes %s out of %s, which is named", next.Name, name, cluster)
	case executed && b != nil && available(b) && p != nil && w.picks(f, name, cluster):
		least, known := leastOf(p, f.asking.budget)
		if !known || left < least {
			w.fail("%s was executed: %s is available in %d members besides, and its budget %+v wants %d", next.Name, name, left, f.asking.budget, least)
		}
	case !executed && meta.IsStatusConditionTrue(next.Status.Conditions, placementv1.ConditionEvictionValid) && b != nil && gives(b):
		w.did[forbade]++
		if f.asking.budget == nil {
			w.fail("%s was not executed, and %s has no budget", next.Name, name)
		}
	case meta.IsStatusConditionFalse(next.Status.Conditions, placementv1.ConditionEvictionValid) && b != nil && gives(b) && p != nil && p.DeletionTimestamp == nil && !fixed:
		w.fail("%s is not valid, and %s is in %s", next.Name, name, cluster)
	}
	if executed && b != nil {
		f.asking.gone = append(f.asking.gone, cluster)
		w.giveUp(f, name, cluster)
	}
}

// leastOf is in how many members a placement has to stay available.
func leastOf(p *placementv1.ClusterResourcePlacement, budget *placementv1.ClusterResourcePlacementDisruptionBudget) (n int, known bool) {
	if budget == nil || budget.Spec.MinAvailable == nil && budget.Spec.MaxUnavailable == nil {
		return 0, true
	}
	wanted := -1
	if p.Spec.Policy != nil && p.Spec.Policy.NumberOfClusters != nil {
		wanted = int(*p.Spec.Policy.NumberOfClusters)
	}
	of := func(v *intstr.IntOrString) int {
		if v.Type == intstr.Int {
			return int(v.IntVal)
		}
		return (wanted + 1) / 2 // the one that is drawn is a half
	}
	switch {
	case wanted < 0 && (budget.Spec.MaxUnavailable != nil || budget.Spec.MinAvailable.Type == intstr.String):
		return 0, false // PickAll wants no number
	case budget.Spec.MaxUnavailable != nil:
		return wanted - of(budget.Spec.MaxUnavailable), true
	}
	return of(budget.Spec.MinAvailable), true
}

// picks tells whether the member was picked when the scheduler began to decide.
func (w *world) picks(f *flight, placement, cluster string) bool {
	picked := f.asking.picked
	if s := w.hub.LivePolicySnapshot(placement); picked == nil && s != nil {
		picked = chosen(s.Status)
	}
	return slices.Contains(picked, cluster)
}

// giveUp notes that a member lost a placement whose taint the scheduler saw.
func (w *world) giveUp(f *flight, placement, cluster string) {
	if !slices.ContainsFunc(f.members, func(m *memberclusterv1.MemberCluster) bool { return m.Name == cluster && len(m.Spec.Taints) > 0 }) {
		return
	}
	w.did[gaveUp]++
	if !w.tainted(cluster) {
		return // the taint was taken away meanwhile
	}
	if w.placing.given == nil {
		w.placing.given = map[turn]int{}
	}
	w.placing.given[turn{placement, cluster}] = w.past.last()
}

// noteShared looks at what people just did: it forgets who gave up a member that has no
// taint any more, or that left, and notes whose objects members have.
func (w *world) noteShared() {
	for _, c := range clusters {
		w.noteMixed(c)
	}
	for t := range w.placing.given {
		if !w.tainted(t.cluster) || !w.hub.Joined(t.cluster) || w.hub.LivePlacement(t.placement) == nil {
			delete(w.placing.given, t)
		}
	}
}

func (w *world) tainted(cluster string) bool {
	return slices.ContainsFunc(w.hub.LiveTaints(cluster), func(x corev1.Taint) bool { return x.Effect == corev1.TaintEffectNoSchedule })
}

// checkEvicted checks that each eviction was decided, and that no placement is in a tainted
// member that it gave up.
func (w *world) checkEvicted() {
	for _, e := range w.hub.LiveEvictions() {
		if !decided(e) {
			w.fail("nobody decided %s of %s from %s: %+v", e.Name, e.Spec.PlacementName, e.Spec.ClusterName, e.Status.Conditions)
		}
	}
	for t := range w.placing.given {
		if slices.Contains(w.has(t.placement), t.cluster) {
			w.fail("%s gave up %s, which is tainted, and is there", t.placement, t.cluster)
		}
	}
}
