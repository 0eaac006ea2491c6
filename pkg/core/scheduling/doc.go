// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduling decides which clusters get a template, and how many
// replicas each of them.
//
// Invariants:
//   - The decision depends on the binding and the clusters alone, not on their
//     order: the same input gives the same targets, sorted by name.
//   - Only the binding is read for what a policy wants, never the policy: the
//     binding is what is in force.
//   - "No" is a result: it says which cluster is refused, and why.
//   - Divided replicas sum up to the template's, and what runs somewhere stays
//     there as far as the placement allows.
//   - Room counts for replicas that are added, and for nothing else: a change of room
//     alone moves none. Where it cannot be told, it does not count.
//   - A cluster that does not answer is a target like any other. What keeps
//     templates away from it is a taint.
//
// It must not ask the clusters anything, nor know the time.
package scheduling
