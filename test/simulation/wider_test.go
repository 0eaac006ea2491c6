// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"
)

// The second family of histories has what the first draws, and more. It has seeds of
// its own, so that those of the first stay what they are.

// wider is the history of a seed.
func wider(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0x31de0000) //nolint:gosec // a seed
	c, h := d.climate(), d.history()
	d.particular(h)
	for range 4 + d.IntN(8) {
		h = slices.Insert(h, d.IntN(len(h)+1), d.widely()...)
	}
	newDrawer(uint64(seed) ^ 0x45000000).misspell(h)          //nolint:gosec // a seed
	return c, newDrawer(uint64(seed) ^ 0x5e000000).besides(h) //nolint:gosec // a seed
}

// besides adds what came to this family last, in half of its histories.
func (d drawer) besides(h []op) []op {
	if d.chance(50) {
		return h
	}
	for range 1 + d.IntN(3) {
		h = slices.Insert(h, d.IntN(len(h)+1), d.bars()...)
	}
	return h
}

// widely is what happens besides.
func (d drawer) widely() []op {
	switch n := d.IntN(100); {
	case n < 25:
		return d.overrule()
	case n < 40:
		return d.leave()
	case n < 55:
		return d.ungoverned()
	case n < 70:
		return []op{{verb: forgeEvent, n: d.IntN(len(forgeries)), key: pick(d, templates), cluster: pick(d, clusters)}}
	case n < 80:
		return d.backups()
	case n < 92:
		return d.pauses()
	}
	return []op{{verb: taint, cluster: pick(d, clusters), n: d.IntN(len(effects))}}
}

// more does what only these histories draw; known tells whether o is that.
func (w *world) more(o op) (changed, known bool) {
	did := false
	switch o.verb {
	case putOverride, dropOverride:
		did = w.override(o)
	case unjoin, rejoin, taint, relabel, approve:
		did = w.fleetwise(o)
		changed = did
	case unserve, serve, revoke, grant:
		did = w.govern(o)
	case forgeEvent:
		did = w.forgeEvent(o)
	case bar, unbar:
		did = w.barring(o)
	case pauseOne, resumeOne:
		did = w.byItself(o)
	case keepMember, restoreMember, keepHub, restoreHub:
		did = w.goBack(o)
	default:
		return false, false
	}
	if did {
		w.did[o.verb]++
	}
	return changed, true // of the others the model's history knows nothing
}

// widely is o for people.
func (o op) widely() string {
	switch o.verb {
	case putOverride:
		return fmt.Sprintf("put override %s: %s", o.policy, o.over.describe())
	case dropOverride:
		return fmt.Sprintf("delete override %s", o.policy)
	case relabel:
		return fmt.Sprintf("label %s: zone %q", o.cluster, zones[o.n])
	case unjoin, rejoin, approve:
		return fmt.Sprintf("%s %s", o.verb, o.cluster)
	case keepMember, restoreMember:
		return fmt.Sprintf("%s %s", o.verb, o.cluster)
	case pauseOne, resumeOne:
		return fmt.Sprintf("%s %s in %s, n %d", o.verb, o.key, o.cluster, o.n)
	case unserve, serve:
		return fmt.Sprintf("%s %s", o.verb, o.key.Kind)
	case revoke:
		return fmt.Sprintf("%s %s, writing only: %t", o.verb, refusable[o.n], o.writing)
	case bar, unbar:
		return fmt.Sprintf("%s %s in %s, writing only: %t", o.verb, barrable[o.n], o.cluster, o.writing)
	case forgeEvent:
		return fmt.Sprintf("forge %s of %s in %s", forgeries[o.n], o.key, o.cluster)
	case removePlaced:
		return fmt.Sprintf("%s %s in %s", o.verb, o.policy.Name, o.cluster)
	case forgePlaced:
		return fmt.Sprintf("forge %s of %s in %s: %s", placedForgeries[o.n], o.policy.Name, o.cluster, forgedReasons[o.seed])
	case putPlacement:
		return fmt.Sprintf("put placement %s: %s", o.policy.Name, placedAs(o.asked))
	case rollBack, goOn, putRun, evict, putBudget:
		return fmt.Sprintf("%s %s, n %d %s", o.verb, o.policy.Name, o.n, o.cluster)
	case release, dropRun, approveRun:
		return fmt.Sprintf("%s %s", o.verb, o.policy.Name)
	case dropPlacement:
		return fmt.Sprintf("delete placement %s", o.policy.Name)
	case putOverruling:
		return fmt.Sprintf("put override %s/%s: %s", o.policy.Namespace, o.policy.Name, o.ruling)
	case dropOverruling, replaceOverruling:
		return fmt.Sprintf("%s %s/%s", o.verb, o.policy.Namespace, o.policy.Name)
	case taint:
		return fmt.Sprintf("taint %s: %q", o.cluster, effects[o.n])
	case twoSweeps:
		return fmt.Sprintf("%s, deliver %d, seed %#x", o.verb, o.n, o.seed)
	case restoreHub:
		return fmt.Sprintf("%s, young: %t", o.verb, o.n == young)
	}
	return string(o.verb)
}

// TestWider runs histories of the second family, each of which costs as much as one of
// TestSimulation: a third as many. All that only they draw has to come about.
func TestWider(t *testing.T) {
	first, last := share(3)
	did := each(t, first, last, wider)
	if t.Log(did); t.Failed() || last-first < 50 {
		return
	}
	for _, v := range []verb{putOverride, dropOverride, unjoin, rejoin, taint, unserve, serve, revoke, grant, bar, unbar, pauseOne, resumeOne, forgeEvent, keepMember, restoreMember, keepHub, restoreHub} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
