// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// Where policies choose clusters by their labels, and these change: nobody asked by name
// for what leaves a member then, so it is held first, and more than a budget stays until
// somebody approves.
const (
	relabel verb = "label"
	approve verb = "approve" // kubectl sluice approve
)

// zoneKey is the label's key, and zones what it may say; empty: it is not there.
const zoneKey = "zone"

var zones = []string{"a", "b", ""}

// What the model takes for the budget, of a member that has at most fifty objects.
const (
	mayLeave    = 10
	leaveWithin = 10 * time.Minute
)

// letting is what the budget let go of one member, and when it did last.
type letting map[propagation.BindingKey]time.Time

// selects tells whether the labels of a cluster are those that the affinity asks for.
func (w *world) selects(a *policyv1alpha1.ClusterAffinity, cluster string) bool {
	return a == nil || a.LabelSelector == nil || covers(w.hub.LiveLabels(cluster), a.LabelSelector.MatchLabels)
}

// holds tells whether a removal of the binding's template from the cluster is held.
func holds(b *propagation.Binding, cluster string) bool {
	return slices.Contains(b.HeldRemovals(), cluster)
}

// approves lets go what is held of the cluster.
func (w *world) approves(cluster string) bool {
	did := false
	for _, b := range w.hub.LiveBindings() {
		removals := b.Removals()
		if r := removals[cluster]; r.Holds() {
			r.Approved = true
			removals[cluster] = r
			did = w.hub.AnnotateBinding(b.Key, propagation.AnnotationRemovals, b.WithRemovals(removals).Annotations[propagation.AnnotationRemovals]) || did
		}
	}
	return did
}

// checkLet checks that no more leaves a member than its budget lets go, if nobody asked
// for it: next leaves it out, and old held that.
func (w *world) checkLet(old, next *propagation.Binding) {
	if old == nil || formIn(old) != formIn(next) {
		return
	}
	for cluster, r := range old.Removals() {
		if r.Held.IsZero() || r.Approved || slices.Contains(scheduledTo(next), cluster) || !slices.Contains(scheduledTo(old), cluster) || !w.hub.Joined(cluster) {
			continue
		}
		l := w.safety.let[cluster]
		if l == nil {
			l = letting{}
			w.safety.let[cluster] = l
		}
		l[next.Key] = w.now
		maps.DeleteFunc(l, func(_ propagation.BindingKey, at time.Time) bool { return w.now.Sub(at) >= leaveWithin })
		if len(l) > mayLeave {
			w.fail("%s is the %d. that leaves %s within %s, and nobody approved that", next.Key, len(l), cluster, leaveWithin)
		}
	}
}

// checkHeld checks that what is held at rest is told on its Cluster, and that nothing is
// told where nothing is held.
func (w *world) checkHeld() {
	held := map[string]bool{}
	for _, b := range w.hub.LiveBindings() {
		for _, c := range b.HeldRemovals() {
			held[c] = true
			if w.selects(b.Spec.Placement.ClusterAffinity, c) {
				w.fail("%s holds its removal from %s, whose labels are those that it asks for", b.Key, c)
			}
		}
	}
	for _, c := range w.fleet() {
		if told := conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionRemovalHeld, metav1.ConditionTrue); told != held[c.Name] {
			w.fail("%s says that removals are held: %t, and they are: %t", c.Name, told, held[c.Name])
		}
	}
}

// labelled is the history of a seed in which policies choose clusters by labels.
func labelled(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0x1abe1000) //nolint:gosec // a seed
	c, h := d.climate(), d.history()
	for i := range h {
		if a := h[i].spec.Placement.ClusterAffinity; a != nil && d.chance(80) {
			a.ClusterNames, a.LabelSelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{zoneKey: pick(d, []string{"a", "a", "b"})}}
		}
	}
	for range 4 + d.IntN(12) {
		o := op{verb: relabel, cluster: pick(d, clusters), n: d.IntN(len(zones))}
		if d.chance(15) {
			o.verb = approve
		}
		at := d.IntN(len(h) + 1)
		h = slices.Insert(h, at, o)
		if d.chance(40) {
			h = slices.Insert(h, at+1, op{verb: deliver}, op{verb: tick}, op{verb: deliver})
		}
	}
	first := []op{{verb: relabel, cluster: "m1"}, {verb: relabel, cluster: "m2"}, {verb: relabel, cluster: "m3", n: 1}}
	return c, append(first, h...)
}

// TestZ12HistoriesWithLabels runs histories in which labels of clusters move templates:
// what nobody asked for by name has a budget, and what is held stays until somebody
// approves or the labels are back. They are a sixth as many as those of TestSimulation.
func TestZ12HistoriesWithLabels(t *testing.T) {
	first, last := share(6)
	did := each(t, first, last, labelled)
	if t.Log(did); t.Failed() || last-first < 50 {
		return
	}
	if did[relabel] == 0 {
		t.Errorf("in none of %d histories anybody did %q", last-first+1, relabel)
	}
}
