// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package count keeps the counts in policies' statuses up to date.
//
// Invariants:
//   - Each policy shows the states of its templates, which of their removals are held,
//     and which rights their kinds lack.
//   - A policy is announced when the hub begins or ceases to serve what it names, and
//     when the definition of a kind that it names was changed.
//   - There is at most one write for each policy in five seconds, at most a second of
//     writing in a sweep, and no write if nothing changed. Policies take turns: how far
//     a sweep came is stored as a position.
//
// It must not read templates to count them.
package count
