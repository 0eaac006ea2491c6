// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package suspension_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/redistest"
)

var (
	nginx   = propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	binding = propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}
	web     = propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "web"}
	all     = propagation.PolicyKey{Scope: propagation.Cluster, Name: "all"}
)

// A step changes what Redis knows. It fails the test where it cannot.
type step func(t testing.TB, rdb redis.UniversalClient)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func policy(key propagation.PolicyKey, v suspension.Suspension) step {
	return func(t testing.TB, rdb redis.UniversalClient) {
		t.Helper()
		must(t, suspension.New(rdb).SetPolicy(t.Context(), key, v))
	}
}

func bound(key propagation.BindingKey, v suspension.Suspension) step {
	return func(t testing.TB, rdb redis.UniversalClient) {
		t.Helper()
		must(t, suspension.New(rdb).SetBinding(t.Context(), key, v))
	}
}

func heldBy(key propagation.PolicyKey) step {
	return func(t testing.TB, rdb redis.UniversalClient) {
		t.Helper()
		m := claims.New(rdb)
		v, err := m.Look(t.Context(), nginx)
		must(t, err)
		must(t, m.Record(t.Context(), nginx, propagation.Claim{Policy: key, ID: "id"}, propagation.Sighting{}, v.Revision))
	}
}

func waiting(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	m := claims.New(rdb)
	v, err := m.Look(t.Context(), nginx)
	must(t, err)
	must(t, m.Park(t.Context(), nginx, nil, propagation.Sighting{}, v.Revision))
}

func fresh(t testing.TB, rdb redis.UniversalClient, given ...step) *suspension.Map {
	t.Helper()
	must(t, rdb.FlushAll(t.Context()).Err())
	must(t, claims.New(rdb).Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return nil }))
	for _, do := range given {
		do(t, rdb)
	}
	return suspension.New(rdb)
}

func everywhere(version uint64) suspension.Suspension {
	return suspension.Suspension{All: true, Version: version}
}

func on(version uint64, clusters ...string) suspension.Suspension {
	return suspension.Suspension{Clusters: clusters, Version: version}
}

func nowhere(version uint64) suspension.Suspension { return suspension.Suspension{Version: version} }

var (
	byPolicy  = suspension.Verdict{Suspended: true, By: "policy shop/web"}
	byBinding = suspension.Verdict{Suspended: true, By: "binding shop/nginx-deployment"}
)

type checkRow struct {
	given []step
	// want is the verdict on cluster m1.
	want suspension.Verdict
}

var checkRows = map[string]checkRow{
	"nothing is suspended at first":                         {},
	"a policy's suspension holds what it holds":             {given: []step{heldBy(web), policy(web, everywhere(0))}, want: byPolicy},
	"a policy's suspension does not hold what another does": {given: []step{heldBy(all), policy(web, everywhere(0))}},
	"a policy's suspension does not hold what waits":        {given: []step{waiting, policy(web, everywhere(0))}},
	"a policy's suspension does not hold what is unknown":   {given: []step{policy(web, everywhere(0))}},
	"a suspension follows the claim":                        {given: []step{policy(web, everywhere(0)), heldBy(all), heldBy(web)}, want: byPolicy},
	"a suspension is left behind with the claim":            {given: []step{policy(web, everywhere(0)), heldBy(web), heldBy(all)}},
	"a cluster policy's suspension says so": {
		given: []step{heldBy(all), policy(all, everywhere(0))}, want: suspension.Verdict{Suspended: true, By: "cluster policy all"},
	},
	"a suspension on a cluster holds that":                   {given: []step{heldBy(web), policy(web, on(0, "m2", "m1"))}, want: byPolicy},
	"a suspension on other clusters holds not this":          {given: []step{heldBy(web), policy(web, on(0, "m2", "m10"))}},
	"a suspension without clusters is none":                  {given: []step{heldBy(web), policy(web, on(0))}},
	"a cleared suspension is none":                           {given: []step{heldBy(web), policy(web, everywhere(0)), policy(web, nowhere(0))}},
	"a suspension that is narrowed holds the rest":           {given: []step{heldBy(web), policy(web, everywhere(0)), policy(web, on(0, "m1"))}, want: byPolicy},
	"a cluster that was released goes on":                    {given: []step{heldBy(web), policy(web, on(0, "m1", "m2")), policy(web, on(0, "m2"))}},
	"a binding's suspension holds it":                        {given: []step{bound(binding, everywhere(0))}, want: byBinding},
	"a binding's suspension holds what waits":                {given: []step{waiting, bound(binding, on(0, "m1"))}, want: byBinding},
	"another binding's suspension does not":                  {given: []step{bound(propagation.BindingKey{Name: binding.Name}, everywhere(0))}},
	"either suspension suffices":                             {given: []step{heldBy(web), policy(web, on(0, "m2")), bound(binding, on(0, "m1"))}, want: byBinding},
	"of both the policy's is named":                          {given: []step{heldBy(web), bound(binding, everywhere(0)), policy(web, everywhere(0))}, want: byPolicy},
	"a late reading of an old policy suspends nothing":       {given: []step{heldBy(web), policy(web, nowhere(7)), policy(web, everywhere(5))}},
	"a late reading of an old policy lifts nothing":          {given: []step{heldBy(web), policy(web, everywhere(7)), policy(web, nowhere(5))}, want: byPolicy},
	"a newer reading lifts":                                  {given: []step{heldBy(web), policy(web, everywhere(99)), policy(web, nowhere(100))}},
	"a lifted suspension is not brought back by an old one":  {given: []step{heldBy(web), policy(web, everywhere(5)), policy(web, nowhere(7)), policy(web, everywhere(6))}},
	"whoever speaks for himself is heard":                    {given: []step{heldBy(web), policy(web, everywhere(7)), policy(web, nowhere(0))}},
	"and what he said outlives an old reading":               {given: []step{heldBy(web), policy(web, everywhere(7)), policy(web, nowhere(0)), policy(web, everywhere(6))}},
	"a policy made anew speaks for itself":                   {given: []step{heldBy(web), policy(web, everywhere(7)), policy(web, nowhere(0)), policy(web, everywhere(8))}, want: byPolicy},
	"a removed policy still holds what it held":              {given: []step{heldBy(web), policy(web, everywhere(7)), removed}, want: byPolicy},
	"a suspension of a strange name holds no cluster":        {given: []step{heldBy(web), policy(web, on(0, "m1,m2", "\n", `"`))}},
	"a suspension that was said twice is lifted by one word": {given: []step{heldBy(web), policy(web, everywhere(0)), policy(web, everywhere(0)), policy(web, nowhere(0))}},
}

func removed(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	must(t, claims.New(rdb).RemovePolicy(t.Context(), web))
}

func TestCheck(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range checkRows {
			t.Run(name, func(t *testing.T) {
				got, err := fresh(t, rdb, tc.given...).Check(t.Context(), nginx, binding, "m1", 0)
				must(t, err)
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		}
	})
}

// What a member gets or loses, the hub said at a version that Redis knows from then on.
func TestZ21WhoAsksTellsHowFarTheHubHasCome(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m, at := fresh(t, rdb, heldBy(web)), positions.New(rdb)
		for _, step := range []struct {
			suspended suspension.Suspension
			version   uint64
			want      string
		}{{nowhere(0), 0, ""}, {nowhere(0), 9, "9"}, {nowhere(0), 100, "100"}, {nowhere(0), 99, "100"}, {everywhere(0), 101, "101"}} {
			must(t, m.SetPolicy(t.Context(), web, step.suspended))
			if v, err := m.Check(t.Context(), nginx, binding, "m1", step.version); err != nil || v.Suspended != step.suspended.All {
				t.Errorf("asked at %d: %v, %v", step.version, v, err)
			}
			all, err := at.Load(t.Context())
			if err != nil || all[claims.PositionHub] != step.want {
				t.Errorf("asked at %d, the hub has come to %q, want %q: %v", step.version, all[claims.PositionHub], step.want, err)
			}
		}
	})
}

type writeRow struct {
	given []step
	set   suspension.Suspension
	want  int64
}

var writeRows = map[string]writeRow{
	"a suspension is one write":                   {set: everywhere(0), want: 1},
	"the same suspension is none":                 {given: []step{policy(web, on(0, "m1", "m2"))}, set: on(0, "m2", "m1", "m2")},
	"the same suspension of that version is none": {given: []step{policy(web, on(5, "m1"))}, set: on(5, "m1")},
	"no suspension where none is is none":         {set: nowhere(0)},
	"an old suspension is none":                   {given: []step{policy(web, on(5, "m1"))}, set: everywhere(4)},
	"lifting is one write":                        {given: []step{policy(web, on(5, "m1"))}, set: nowhere(6), want: 1},
}

func TestAFlagIsWrittenOnlyWhenItChanges(t *testing.T) {
	rdb := redistest.Real(t).Client(t)
	for name, tc := range writeRows {
		t.Run(name, func(t *testing.T) {
			f := fresh(t, rdb, tc.given...)
			before := changes(t, rdb)
			must(t, f.SetPolicy(t.Context(), web, tc.set))
			if got := changes(t, rdb) - before; got != tc.want {
				t.Errorf("%d writes, want %d", got, tc.want)
			}
		})
	}
}

// changes is how often the server's data was changed.
func changes(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	info, err := rdb.InfoMap(t.Context(), "persistence").Result()
	must(t, err)
	var n int64
	for _, r := range info["Persistence"]["rdb_changes_since_last_save"] {
		n = n*10 + int64(r-'0')
	}
	return n
}

// calls are all uses of the suspensions.
var calls = map[string]func(ctx context.Context, f *suspension.Map) error{
	"SetPolicy": func(ctx context.Context, f *suspension.Map) error {
		return f.SetPolicy(ctx, web, everywhere(0))
	},
	"SetBinding": func(ctx context.Context, f *suspension.Map) error {
		return f.SetBinding(ctx, binding, everywhere(0))
	},
	"Check": func(ctx context.Context, f *suspension.Map) error {
		_, err := f.Check(ctx, nginx, binding, "m1", 7)
		return err
	},
}

func TestNothingWorksOnARedisThatWasFlushed(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		given := []step{heldBy(web), policy(web, everywhere(5)), bound(binding, on(5, "m1"))}
		for i := range len(given) + 1 {
			f := fresh(t, rdb, given[:i]...)
			must(t, rdb.FlushAll(t.Context()).Err())
			for name, do := range calls {
				if err := do(t.Context(), f); !errors.Is(err, outcome.ErrNotBuilt) {
					t.Errorf("%s after %d steps and a flush: %v, want %v", name, i, err, outcome.ErrNotBuilt)
				}
			}
			if n := rdb.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys were written after %d steps and a flush", n, i)
			}
		}
	})
}

func TestNothingWorksWithoutRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		f := fresh(t, s.Client(t))
		s.Stop(t)
		for name, do := range calls {
			if err := do(t.Context(), f); err == nil || errors.Is(err, outcome.ErrNotBuilt) {
				t.Errorf("%s: %v, want an error that says that redis is away", name, err)
			}
		}
	})
}

func TestFlagsAreNotChangedByTheirSetting(t *testing.T) {
	f := fresh(t, redistest.Embedded(t).Client(t))
	clusters := []string{"m2", "m1", "m2"}
	given := slices.Clone(clusters)
	must(t, f.SetPolicy(t.Context(), web, suspension.Suspension{Clusters: given}))
	if d := cmp.Diff(clusters, given); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
