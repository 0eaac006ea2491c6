// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package positions_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/redistest"
)

func TestAPositionIsFoundAgainUntilRedisIsLost(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := positions.New(rdb)
		if _, err := m.Load(t.Context()); !errors.Is(err, outcome.ErrNotBuilt) {
			t.Errorf("load before Redis was built: %v", err)
		}
		if err := m.Save(t.Context(), "a", "1"); !errors.Is(err, outcome.ErrNotBuilt) {
			t.Errorf("save before Redis was built: %v", err)
		}
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		for _, p := range [][2]string{{"apps/v1 Deployment", "7"}, {"v1 Secret", "8"}, {"apps/v1 Deployment", "9"}} {
			if err := m.Save(t.Context(), p[0], p[1]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.Load(t.Context())
		if d := cmp.Diff(map[string]string{"apps/v1 Deployment": "9", "v1 Secret": "8"}, got); d != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	})
}

func TestAPositionThatIsRaisedNeverFalls(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := positions.New(rdb)
		if err := m.Raise(t.Context(), schema.PositionHub, 1); !errors.Is(err, outcome.ErrNotBuilt) {
			t.Errorf("raise before Redis was built: %v", err)
		}
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		for _, step := range []struct {
			to   uint64
			want string
		}{{9, "9"}, {100, "100"}, {99, "100"}, {100, "100"}, {4503599627370497, "4503599627370497"}} {
			err := m.Raise(t.Context(), schema.PositionHub, step.to)
			all, failed := m.Load(t.Context())
			if all[schema.PositionHub] != step.want || errors.Join(err, failed) != nil {
				t.Errorf("raised to %d it is %q, want %q: %v", step.to, all[schema.PositionHub], step.want, errors.Join(err, failed))
			}
		}
	})
}

func TestANoticeOutlivesARebuild(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m, other := positions.New(rdb), positions.New(s.Client(t))
		noted := func(want bool) {
			t.Helper()
			if got, err := other.Noted(t.Context(), "hub went back"); got != want || err != nil {
				t.Errorf("noted: %t, %v; want %t", got, err, want)
			}
		}
		noted(false)
		for range 2 { // which may be tried again
			if err := m.Note(t.Context(), "hub went back"); err != nil {
				t.Fatal(err)
			}
		}
		rdb.Del(t.Context(), schema.Data()...)
		noted(true)
		if err := m.Forget(t.Context(), "hub went back"); err != nil {
			t.Fatal(err)
		}
		noted(false)
	})
}
