// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

// A call is one use of the map. Together they are a template's life.
type call struct {
	name string
	do   func(ctx context.Context, m *claims.Map) error
}

var life = []call{
	{"IndexPolicy", func(ctx context.Context, m *claims.Map) error {
		p := policy("shop/web", 5, "Deployment")
		_, _, err := m.IndexPolicy(ctx, p, claims.SelectorsOf(p))
		return err
	}},
	{"Look", func(ctx context.Context, m *claims.Map) error {
		_, err := m.Look(ctx, template("Deployment shop/nginx"))
		return err
	}},
	{"Known", func(ctx context.Context, m *claims.Map) error {
		_, err := m.Known(ctx, policyKey("shop/web"))
		return err
	}},
	{"Park", func(ctx context.Context, m *claims.Map) error {
		v, _ := m.Look(ctx, template("Deployment shop/nginx"))
		return m.Park(ctx, template("Deployment shop/nginx"), nil, propagation.Sighting{}, v.Revision)
	}},
	{"Waiting", func(ctx context.Context, m *claims.Map) error {
		p := policy("shop/web", 5, "Deployment")
		_, _, err := m.Waiting(ctx, claims.SelectorsOf(p), selects(p), "", 10)
		return err
	}},
	{"Record", func(ctx context.Context, m *claims.Map) error {
		v, _ := m.Look(ctx, template("Deployment shop/nginx"))
		return m.Record(ctx, template("Deployment shop/nginx"), claimOf("shop/web"), propagation.Sighting{}, v.Revision)
	}},
	{"Held", func(ctx context.Context, m *claims.Map) error {
		_, _, err := m.Held(ctx, policyKey("shop/web"), "", 10)
		return err
	}},
	{"Says", func(ctx context.Context, m *claims.Map) error {
		_, err := m.Says(ctx, policy("shop/web", 5, "Deployment nginx"))
		return err
	}},
	{"HeldCount", func(ctx context.Context, m *claims.Map) error {
		_, err := m.HeldCount(ctx, policyKey("shop/web"))
		return err
	}},
	{"RemovePolicy", func(ctx context.Context, m *claims.Map) error {
		return m.RemovePolicy(ctx, policyKey("shop/web"))
	}},
	{"Drop", func(ctx context.Context, m *claims.Map) error {
		return m.Drop(ctx, template("Deployment shop/nginx"))
	}},
}

func TestALifeSucceeds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := fresh(t, s.Client(t))
		for _, c := range life {
			if err := c.do(t.Context(), m); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

func TestNothingWorksOnARedisThatWasFlushed(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for i := range len(life) + 1 {
			m := fresh(t, rdb)
			for _, c := range life[:i] {
				if err := c.do(t.Context(), m); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
			if err := rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if built, err := m.Built(t.Context()); built || err != nil {
				t.Errorf("after %d calls and a flush: built %t, %v", i, built, err)
			}
			for _, c := range life {
				if err := c.do(t.Context(), m); !errors.Is(err, outcome.ErrNotBuilt) {
					t.Errorf("%s after %d calls and a flush: %v, want %v", c.name, i, err, outcome.ErrNotBuilt)
				}
			}
			if n := rdb.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys were written after %d calls and a flush", n, i)
			}
		}
	})
}

func TestNothingWorksWithoutRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := fresh(t, s.Client(t))
		s.Stop(t)
		calls := append(life[:len(life):len(life)],
			call{"Built", func(ctx context.Context, m *claims.Map) error {
				_, err := m.Built(ctx)
				return err
			}},
			call{"Rebuild", func(ctx context.Context, m *claims.Map) error {
				return m.Rebuild(ctx, func(context.Context, *claims.Rebuild) error { return nil })
			}})
		for _, c := range calls {
			if err := c.do(t.Context(), m); err == nil || errors.Is(err, outcome.ErrNotBuilt) {
				t.Errorf("%s: %v, want an error that says that redis is away", c.name, err)
			}
		}
	})
}

func TestScriptsComeBackAfterTheServerForgotThem(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := fresh(t, rdb)
		for _, c := range life {
			if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := c.do(t.Context(), m); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

// counting counts the requests that reach Redis.
type counting struct{ requests int }

func (c *counting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.requests++
		return next(ctx, cmds)
	}
}

func (c *counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.requests++
		return next(ctx, cmd)
	}
}

func TestRequests(t *testing.T) {
	rdb, count := redistest.Real(t).Client(t), &counting{}
	m := fresh(t, rdb)
	for _, c := range life { // so that the server knows the scripts
		if err := c.do(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 {
		parked(fmt.Sprintf("ConfigMap shop/c%d", i))(t, m)
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("Deployment d%d", i))
	}
	indexed(policy("shop/secrets", 5, "Secret"))(t, m)
	rdb.AddHook(count)
	for name, tc := range map[string]struct {
		do   step
		want int
	}{
		"a template that no policy selects is parked in two": {
			do: parked("Job shop/nginx"), want: 2,
		},
		"a template that a policy selects is claimed in three": {
			do: recorded("Secret shop/nginx", "shop/secrets"), want: 3,
		},
		"a policy finds that nothing of its kind waits in one, whatever else does": {
			do: func(t *testing.T, m *claims.Map) { waiting(t, m, policy("web", 5, "Deployment", "Namespace x"), 100) }, want: 1,
		},
		"a thousand names are looked up in one": {
			do: func(t *testing.T, m *claims.Map) { waiting(t, m, policy("web", 5, names...), 100) }, want: 1,
		},
		"a policy of another namespace reads nothing of this one": {
			do: func(t *testing.T, m *claims.Map) { waiting(t, m, policy("bank/web", 5, "ConfigMap"), 100) }, want: 1,
		},
		"a policy with a thousand selectors is indexed in one": {
			do: indexed(policy("web", 5, names...)), want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			count.requests = 0
			tc.do(t, m)
			diff(t, tc.want, count.requests)
		})
	}
}

func TestEveryKeyHasTheHashTag(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		fresh(t, rdb, indexed(policy("shop/web", 5, "Deployment")), recorded("Deployment shop/a", "shop/web"), parked("Deployment shop/b"))
		for _, k := range rdb.Keys(t.Context(), "*").Val() {
			if !strings.HasPrefix(k, "{sluice3}:") {
				t.Errorf("key %q", k)
			}
		}
	})
}
