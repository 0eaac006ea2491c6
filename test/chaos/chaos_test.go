// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestASeedDrawsTheSameFaults(t *testing.T) {
	drawn := func(seed uint64) []string {
		rng, all := rand.New(rand.NewPCG(seed, 1)), []string{}
		for range 50 {
			for _, f := range draw(rng, targets(3)) {
				all = append(all, f.String())
			}
		}
		return all
	}
	if diff := cmp.Diff(drawn(7), drawn(7)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(drawn(7), drawn(8)) {
		t.Error("two seeds draw the same")
	}
}

func TestNothingIsHarmedTwiceAtATime(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		if f := draw(rng, targets(2)); len(f) == 2 && f[0].who == f[1].who {
			t.Fatal(f)
		}
	}
}

func TestARemovalNeedsACause(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Minute) }
	a := template{"ConfigMap", "chaos-0", "a"}
	in1 := place{a, "member1"}
	for name, tc := range map[string]struct {
		did      func(*model)
		removals map[place][]time.Time
		want     int
	}{
		"nobody asked":               {func(*model) {}, map[place][]time.Time{in1: {at(1)}}, 1},
		"the template was deleted":   {func(m *model) { m.removed(a, []string{"member1"}, at(1)) }, map[place][]time.Time{in1: {at(2)}}, 0},
		"it was deleted later":       {func(m *model) { m.removed(a, []string{"member1"}, at(3)) }, map[place][]time.Time{in1: {at(2)}}, 1},
		"the policy leaves it out":   {func(m *model) { m.placed("chaos-0", []string{"member2"}, at(1)) }, map[place][]time.Time{in1: {at(2)}}, 0},
		"it leaves another one out":  {func(m *model) { m.placed("chaos-0", []string{"member1"}, at(1)) }, map[place][]time.Time{in1: {at(2)}}, 1},
		"another namespace's policy": {func(m *model) { m.placed("chaos-1", nil, at(1)) }, map[place][]time.Time{in1: {at(2)}}, 1},
		"once is not twice":          {func(m *model) { m.removed(a, []string{"member1"}, at(1)) }, map[place][]time.Time{in1: {at(2), at(3)}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			for _, namespace := range []string{"chaos-0", "chaos-1"} {
				m.placed(namespace, []string{"member1", "member2"}, at(0))
			}
			m.wrote(a, 1)
			tc.did(m)
			if got := m.unasked(tc.removals); len(got) != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestATemplateSaysItsVersion(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Deployment"} {
		one := template{kind, "n", "a"}
		if got := one.says(one.object(12)); got != "v12" {
			t.Errorf("%s says %s", kind, got)
		}
	}
}
