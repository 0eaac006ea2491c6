// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// finding is something that the simulation found, and that is not mended yet.
// What it breaks is not checked as long as it is listed here.
type finding string

const (
	// Only a restart has claims looked at again when a gate was switched.
	gatesUnheeded finding = "S2"
	// A Redis that outlives a restart keeps templates that went meanwhile.
	staleIndex finding = "S4"
	// A rebuilt Redis knows only templates of the kinds that policies select.
	kindsNotLoaded finding = "S5"
	// Within one second it is not told whether a template or its Lazy policy was
	// first.
	sameSecond finding = "S6"
	// A write of metadata alone makes a template newer than its Lazy policy.
	metadataCounts finding = "S7"
	// Nobody looks after a claim whose kind no policy selects any more when
	// everything is started again.
	kindsUnwatched finding = "S8"
)

var known = map[finding]bool{
	gatesUnheeded:  true,
	staleIndex:     true,
	kindsNotLoaded: true,
	sameSecond:     true,
	metadataCounts: true,
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
