// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package evicting decides what becomes of a ClusterResourcePlacementEviction: whether a
// placement has to give up a member that it has picked.
//
// Invariants:
//   - An eviction is decided once. What it says then stands, whatever changes later.
//   - The member that it names is asked about, and no other: those evicted at the same time
//     count as lost already.
//   - A ClusterResourcePlacementDisruptionBudget counts members where the placement is known
//     to be available. One where it failed, or that has nothing of it yet, has nothing to
//     protect; what is not known is not available.
//   - Every "no" says what stands in the way.
//
// It must not pick members (scheduling), nor take anything from one (rollout).
package evicting
