// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package interpreters makes changed rules of kinds take effect on what is already
// propagated, and writes to each ResourceInterpreter whether its rules act.
//
// Reads: the interpreters, and the bindings of the sweep.
// Commits: the interpreters' status, if it changed.
// Emits: template.touched and binding.scheduled for the templates of a kind whose rules
// changed since the last sweep: the gate counts their replicas again, the renderer has
// their Works checked, and everything else follows.
//
// Invariants:
//   - At most tick.Batch templates are announced in a sweep; the next one continues.
//   - Twice is safe: for a template that is up to date it only costs reads.
//
// It must not decide what the rules of a kind change.
package interpreters
