// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package suspension_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/redistest"
)

// BenchmarkCheck is what the applier asks before each write to a member.
func BenchmarkCheck(b *testing.B) {
	for name, start := range map[string]func(testing.TB) *redistest.Server{"redis-server": redistest.Real, "embedded": redistest.Embedded} {
		for about, grows := range map[string]uint64{"of a new version": 1, "of a known version": 0} {
			b.Run(name+"/"+about, func(b *testing.B) {
				rdb := start(b).Client(b)
				held(b, rdb)
				m, version := suspension.New(rdb), uint64(1)
				b.ReportAllocs()
				for b.Loop() {
					if v, err := m.Check(b.Context(), nginx, binding, "m1", version); err != nil || v.Suspended {
						b.Fatal(v, err)
					}
					version += grows
				}
			})
		}
	}
}

// held lets a policy hold the template.
func held(b *testing.B, rdb redis.UniversalClient) {
	b.Helper()
	m := claims.New(rdb)
	err := m.Rebuild(b.Context(), nothing)
	v, failed := m.Look(b.Context(), nginx)
	if err != nil || failed != nil {
		b.Fatal(err, failed)
	}
	if err := m.Record(b.Context(), nginx, propagation.Claim{Policy: web, ID: "id"}, propagation.Sighting{}, v.Revision); err != nil {
		b.Fatal(err)
	}
}
