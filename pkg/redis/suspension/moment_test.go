// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package suspension_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/redistest"
)

type momentRow struct {
	given, meanwhile []step
	want             suspension.Verdict
	fails            error
}

var momentRows = map[string]momentRow{
	"a claim goes from one suspended policy to another, and the first one is resumed": {
		given:     []step{heldBy(web), policy(web, everywhere(0))},
		meanwhile: []step{policy(all, everywhere(0)), heldBy(all), policy(web, nowhere(0))},
		want:      suspension.Verdict{Suspended: true, By: "cluster policy all"},
	},
	"a claim goes to a policy that is not suspended": {
		given:     []step{heldBy(web), policy(web, everywhere(0))},
		meanwhile: []step{heldBy(all)},
	},
	"a suspended policy claims what waited": {
		given:     []step{waiting, policy(web, everywhere(0))},
		meanwhile: []step{heldBy(web)},
		want:      byPolicy,
	},
	"a policy is suspended": {
		given:     []step{heldBy(web)},
		meanwhile: []step{policy(web, everywhere(0))},
		want:      byPolicy,
	},
	"a binding is suspended": {
		given:     []step{heldBy(web)},
		meanwhile: []step{bound(binding, everywhere(0))},
		want:      byBinding,
	},
	"Redis loses everything": {
		given:     []step{heldBy(web)},
		meanwhile: []step{func(t testing.TB, rdb redis.UniversalClient) { t.Helper(); must(t, rdb.FlushAll(t.Context()).Err()) }},
		fails:     outcome.ErrNotBuilt,
	},
}

// A verdict is of one moment, whatever changes while it is asked for.
func TestCheckIsOfOneMoment(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range momentRows {
			t.Run(name, func(t *testing.T) {
				fresh(t, rdb, tc.given...)
				asks := s.Client(t)
				redistest.After(asks, func() {
					for _, do := range tc.meanwhile {
						do(t, rdb)
					}
				})
				got, err := suspension.New(asks).Check(t.Context(), nginx, binding, "m1", 7)
				if !errors.Is(err, tc.fails) {
					t.Fatalf("%v, want %v", err, tc.fails)
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		}
	})
}
