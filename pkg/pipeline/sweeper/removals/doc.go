// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package removals decides about removals from members that nobody asked for by name.
//
// Invariants:
//   - Within a member's budget (pkg/core/budget) removals are allowed. If they exceed
//     it, all of them are held, and the Cluster and the policies say so. What a person
//     approves is removed.
//   - A decision is about a member as a whole, and is stored on the bindings, so that
//     any replica continues.
//
// Commits: on bindings, that a held removal is allowed; the condition RemovalHeld of
// Clusters.
// Emits: binding.activated if a removal is allowed.
//
// It must not remove anything.
package removals
