// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"errors"
	"testing"

	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/redistest"
)

// Whoever finds that the hub has a policy in an older version than it is known in has
// proven that the hub went back, of what was built by then and of nothing later.
func TestZ21ThatTheHubWentBackIsProvenOfOneEpoch(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m, at := fresh(t, rdb, indexed(policy("shop/web", 5, "Deployment nginx"))), positions.New(rdb)
		known := func(policy string, want uint64) claims.Known {
			t.Helper()
			k, err := m.Known(t.Context(), policyKey(policy))
			if err != nil || k.Version != want || k.Epoch == "" || k.Epoch != look(t, m, template("Deployment shop/nginx")).Epoch {
				t.Errorf("of %s is known %+v, %v; want version %d", policy, k, err, want)
			}
			return k
		}
		is := func(sentence string, wantBuilt, wantNoted bool) {
			t.Helper()
			built, err := m.Built(t.Context())
			noted, failed := at.Noted(t.Context(), claims.NoticeBack)
			if built != wantBuilt || noted != wantNoted || errors.Join(err, failed) != nil {
				t.Errorf("%s: built %t, noted %t, %v", sentence, built, noted, errors.Join(err, failed))
			}
		}
		known("shop/other", 0)
		if err := suspension.New(rdb).SetPolicy(t.Context(), policyKey("shop/web"), suspension.Suspension{Version: 7}); err != nil {
			t.Fatal(err)
		}
		before := known("shop/web", 7)
		for range 2 { // which may be tried again
			if err := m.WentBack(t.Context(), before.Epoch); err != nil {
				t.Fatal(err)
			}
			is("proven", false, true)
		}
		if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := at.Forget(t.Context(), claims.NoticeBack); err != nil {
			t.Fatal(err)
		}
		if err := m.WentBack(t.Context(), before.Epoch); err != nil {
			t.Fatal(err)
		}
		is("proven of what was built before", true, false)
		known("shop/web", 0)
	})
}
