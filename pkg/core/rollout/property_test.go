// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestC63NeverTooManyUnavailable edits, picks and observes as it comes, and looks
// after each plan at who is available, and at who has the placement.
func TestC63NeverTooManyUnavailable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unavailable := rapid.SampledFrom([]string{"1", "2", "25%", "50%", "100%"}).Draw(t, "maxUnavailable")
		surge := rapid.SampledFrom([]string{"0", "1", "25%", "100%"}).Draw(t, "maxSurge")
		w := newWorld(unavailable, surge, members(rapid.IntRange(1, 7).Draw(t, "members"))...)
		w.settle()
		var picks int
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				w.snapshot = fmt.Sprintf("shop-%d-snapshot", i+1)
			case 1:
				w.policy, picks = fmt.Sprintf("shop-%d", i+1), picks+1
				w.picked = rapid.SliceOfNDistinct(rapid.SampledFrom(members(9)), 1, 9, rapid.ID).Draw(t, "picked")
			case 2:
				w.finish()
			default:
				if has := slices.Sorted(maps.Keys(w.has(""))); len(has) > 0 {
					w.observe(rapid.SampledFrom(has).Draw(t, "observed"))
				}
			}
			before, taken := w.available(), w.taken()
			w.carryOut(w.next())
			after := w.available()
			least := len(w.picked) - share(*w.placement.Spec.Strategy.RollingUpdate.MaxUnavailable, len(w.picked))
			if after < before && after < least {
				t.Fatalf("%d were available, %d are, at least %d of %d have to be", before, after, least, len(w.picked))
			}
			most := len(w.picked) + share(*w.placement.Spec.Strategy.RollingUpdate.MaxSurge, len(w.picked))
			if now := w.taken(); now > taken && now > most {
				t.Fatalf("%d had it, %d have, at most %d may", taken, now, most)
			}
		}
		w.settle() // it ends
		if got, want := names(w.has(w.snapshot)), names(setOf(w.picked)); got != want {
			t.Fatalf("%q have the newest, want %q", got, want)
		}
	})
}

func setOf(all []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range all {
		out[n] = true
	}
	return out
}

// available is how many are seen to be so.
func (w *world) available() (n int) {
	for _, b := range w.bindings {
		if b.DeletionTimestamp == nil && Given(b) && assess(b, 0, w.now).available {
			n++
		}
	}
	return n
}

// taken is how many have the placement, or are just being left by it.
func (w *world) taken() (n int) {
	for _, b := range w.bindings {
		if Given(b) {
			n++
		}
	}
	return n
}

func TestTheOrderOfInputDoesNotMatter(t *testing.T) {
	w := newWorld("1", "1", members(7)...).settle()
	w.snapshot, w.picked = second, members(9)[2:]
	want := fmt.Sprint(clusters(w.next()))
	for range 50 { // the bindings come out of a map
		if got := fmt.Sprint(clusters(w.next())); got != want {
			t.Fatalf("%s, and another time %s", want, got)
		}
	}
}

func clusters(p Plan) (out []string) {
	for _, s := range p.Steps {
		out = append(out, s.Cluster())
	}
	return out
}
