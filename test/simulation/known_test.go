// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// finding is something that the simulation found, and that is not mended yet.
// What it breaks is not checked as long as it is listed here.
type finding string

const (
	// A Redis that outlives a restart keeps templates that went meanwhile.
	staleIndex finding = "S4"
	// A rebuilt Redis knows only templates of the kinds that policies select.
	kindsNotLoaded finding = "S5"
	// Nobody looks after a claim whose kind no policy selects any more when
	// everything is started again.
	kindsUnwatched finding = "S8"
)

var known = map[finding]bool{
	staleIndex:     true,
	kindsNotLoaded: true,
	kindsUnwatched: true,
}

// TestKnownFindingsAreMended is skipped, visibly, as long as there are any.
func TestKnownFindingsAreMended(t *testing.T) {
	for f, open := range known {
		if open {
			t.Skipf("not mended yet: %s; what it breaks is not checked", f)
		}
	}
}
