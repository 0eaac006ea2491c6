// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package redistest_test

import (
	"testing"

	"sluice.dev/test/redistest"
)

func TestServerComesAndGoes(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		ctx, c := t.Context(), s.Client(t)
		if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Stop(t)
		if err := c.Ping(ctx).Err(); err == nil {
			t.Error("a stopped server answers")
		}
		s.Start(t)
		if err := c.Ping(ctx).Err(); err != nil {
			t.Errorf("a server that was started again does not answer: %v", err)
		}
	})
}

func TestServersShareNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, one *redistest.Server) {
		ctx, other := t.Context(), redistest.Real(t)
		if err := one.Client(t).Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		n, err := other.Client(t).Exists(ctx, "k").Result()
		if err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Error("another server has the same data")
		}
	})
}

func TestWhatADurableServerSaidStays(t *testing.T) {
	for sentence, tc := range map[string]struct {
		start func(testing.TB) *redistest.Server
		want  int64
	}{
		"a durable server comes back with its keys": {redistest.Durable, 1},
		"any other real server comes back empty":    {redistest.Real, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, s := t.Context(), tc.start(t)
			c := s.Client(t)
			if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Stop(t)
			s.Start(t)
			if n, err := c.Exists(ctx, "k").Result(); err != nil || n != tc.want {
				t.Errorf("%d keys are there, %v, want %d", n, err, tc.want)
			}
		})
	}
}
