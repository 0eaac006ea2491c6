// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pacing

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPacer(t *testing.T) {
	const tenth = 100 * time.Millisecond
	type step struct {
		after time.Duration // the step before
		tell  string        // the object, and what is told of it; "~" before it: aside
		want  string        // what was told since the step before, separated by spaces
	}
	for name, steps := range map[string][]step{
		"the first is told at once, and then the last in each second": {
			{0, "a1", "a1"}, {tenth, "a2", ""}, {tenth, "a3", ""}, {8 * tenth, "", "a3"}, {tenth, "a4", ""}, {9 * tenth, "", "a4"},
		},
		"after quiet it is told at once again": {
			{0, "a1", "a1"}, {11 * tenth, "a2", "a2"},
		},
		"objects do not wait for each other": {
			{0, "a1", "a1"}, {0, "b1", "b1"}, {tenth, "a2", ""}, {tenth, "c1", "c1"}, {8 * tenth, "", "a2"},
		},
		"what begins no interval is told at once each time": {
			{0, "~a1", "a1"}, {0, "~a2", "a2"}, {0, "a3", "a3"},
		},
		"within an interval it waits, as the last": {
			{0, "a1", "a1"}, {tenth, "a2", ""}, {tenth, "~a3", ""}, {8 * tenth, "", "a3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var told []string
				tell := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, what)
				}
				take := func() (all []string) {
					mu.Lock()
					defer mu.Unlock()
					all, told = told, nil
					return all
				}
				p := New(time.Second, tell)
				for _, s := range steps {
					time.Sleep(s.after)
					synctest.Wait()
					what, aside := strings.CutPrefix(s.tell, "~")
					may := p.Now
					if aside {
						may = p.Aside
					}
					if what != "" && may(what[:1], what) {
						tell(what)
					}
					if got, want := take(), strings.Fields(s.want); !slices.Equal(got, want) {
						t.Errorf("after %q: told %v, want %v", s.tell, got, want)
					}
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if len(p.waits) > 0 {
					t.Errorf("kept when all is told: %v", p.waits)
				}
			})
		})
	}
}
