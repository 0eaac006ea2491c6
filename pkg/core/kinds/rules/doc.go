// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules makes abilities of a kind out of what its owner writes in a
// ResourceInterpreter, in CEL.
//
// Invariants:
//   - The answer follows from the object alone: there is no clock, no random number and
//     no other object in the language.
//   - An expression is checked before it acts: its variables and functions, the type of
//     what it says, its length.
//   - An evaluation is limited by a cost that is counted, as the API server counts it,
//     and not by time: the same object gets the same answer everywhere. What it says is
//     bounded, too.
//   - A rule that has a fault, fails or costs too much is an ability that returns an
//     error, not an absent one: the caller then leaves the present state as it is.
//
// It must not know what callers do with the results.
package rules
