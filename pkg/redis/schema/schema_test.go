// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/redistest"
)

var errLost = errors.New("the lock is lost")

type guardRow struct {
	key, value string
	guard      schema.Guard
	want       error
}

var guardRows = map[string]guardRow{
	"an epoch is there":            {key: schema.Epoch, value: "any", guard: schema.Built()},
	"no epoch is there":            {guard: schema.Built(), want: outcome.ErrNotBuilt},
	"a lock is no epoch":           {key: schema.Lock, value: "mine", guard: schema.Built(), want: outcome.ErrNotBuilt},
	"the lock is mine":             {key: schema.Lock, value: "mine", guard: schema.Building("mine", errLost)},
	"the lock is another's":        {key: schema.Lock, value: "other", guard: schema.Building("mine", errLost), want: errLost},
	"the lock is gone":             {guard: schema.Building("mine", errLost), want: errLost},
	"an epoch does not do as lock": {key: schema.Epoch, value: "mine", guard: schema.Building("mine", errLost), want: errLost},
}

func TestGuard(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		script := schema.Guarded(`redis.call("SET", KEYS[2], ARGV[2]) return {DONE, "a", "b"}`)
		for name, tc := range guardRows {
			t.Run(name, func(t *testing.T) {
				rdb.FlushAll(t.Context())
				if tc.key != "" {
					rdb.Set(t.Context(), tc.key, tc.value, 0)
				}
				status, values, err := tc.guard.Run(t.Context(), rdb, script, []string{schema.Index}, "x")
				if !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
				if done := status == schema.Done && cmp.Equal(values, []string{"a", "b"}); done != (tc.want == nil) {
					t.Errorf("status %d, values %q", status, values)
				}
				if n := rdb.Exists(t.Context(), schema.Index).Val(); (n == 1) != (tc.want == nil) {
					t.Errorf("%d writes", n)
				}
			})
		}
	})
}

func TestStrangeRepliesAreErrors(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for name, src := range map[string]string{
			"nothing":                  "return nil",
			"an empty list":            "return {}",
			"a number":                 "return 1",
			"a status that is text":    `return {"DONE"}`,
			"a value that is none":     "return {DONE, false}",
			"a value that is a number": "return {DONE, 1}",
			"an error":                 `return redis.error_reply("ERR no")`,
		} {
			t.Run(name, func(t *testing.T) {
				if _, values, err := schema.Run(t.Context(), s.Client(t), schema.Unguarded(src), nil); err == nil {
					t.Errorf("got %q and no error", values)
				}
			})
		}
	})
}

func TestStatusesAreNamedAlike(t *testing.T) {
	script := schema.Unguarded("return {LOST, tostring(LOST), tostring(DONE), tostring(SAME), tostring(STALE), tostring(BUSY)}")
	status, values, err := schema.Run(t.Context(), redis.Scripter(redistest.Embedded(t).Client(t)), script, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0", "1", "2", "3", "4"}
	if d := cmp.Diff(want, values); d != "" || status != schema.Lost || schema.Busy != 4 {
		t.Errorf("status %d (-want +got)\n%s", status, d)
	}
}
