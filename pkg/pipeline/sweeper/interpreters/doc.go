// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package interpreters has rules of kinds that changed take effect on what was
// propagated before, and says on each ResourceInterpreter whether its rules act.
//
// Reads the interpreters, and the bindings of the sweep. Commits the interpreters'
// status, where it says something else. Emits template.touched and binding.scheduled for
// the templates of a kind whose rules are others than a sweep saw last: the gate counts
// their replicas anew, the renderer has their Works looked at, and what these say
// follows.
//
// Invariants:
//   - At most tick.Batch templates a sweep are announced; the next goes on.
//   - Twice is safe: what is as it has to be costs reads.
package interpreters
