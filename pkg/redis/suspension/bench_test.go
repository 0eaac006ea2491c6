// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package suspension_test

import (
	"testing"

	"sluice.dev/test/redistest"
)

// BenchmarkCheck is what the applier asks before each write to a member.
func BenchmarkCheck(b *testing.B) {
	for name, start := range map[string]func(testing.TB) *redistest.Server{"redis-server": redistest.Real, "embedded": redistest.Embedded} {
		for about, grows := range map[string]uint64{"of a new version": 1, "of a known version": 0} {
			b.Run(name+"/"+about, func(b *testing.B) {
				m, version := fresh(b, start(b).Client(b), heldBy(web)), uint64(1)
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
