// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"fmt"
	"testing"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

// BenchmarkClaim is what a claim costs: one Look, and one Record that changes
// something, among 100 policies.
func BenchmarkClaim(b *testing.B) {
	for name, start := range map[string]func(testing.TB) *redistest.Server{"redis-server": redistest.Real, "embedded": redistest.Embedded} {
		b.Run(name, func(b *testing.B) {
			m := claims.New(start(b).Client(b))
			if err := m.Rebuild(b.Context(), loadHub); err != nil {
				b.Fatal(err)
			}
			for i := range 100 {
				p := policy(fmt.Sprintf("shop/p%d", i), 5, "Deployment")
				if i > 2 {
					p = policy(fmt.Sprintf("shop/p%d", i), 5, fmt.Sprintf("Deployment d%d", i))
				}
				if _, _, err := m.IndexPolicy(b.Context(), p, claims.SelectorsOf(p)); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				k := template(fmt.Sprintf("Deployment shop/t%d", i%5000))
				v, err := m.Look(b.Context(), k)
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Record(b.Context(), k, claimOf(fmt.Sprintf("shop/p%d", i%7)), propagation.Sighting{}, v.Revision); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
