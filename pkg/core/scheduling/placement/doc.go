// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placement decides which members a ClusterResourcePlacement is given to:
// the second dialect of the scheduler, in the frame Batch, Filter, Score, Sort and
// Bind.
//
// Invariants:
//   - The decision depends on the policy's snapshot, what was decided by it before,
//     the bindings, the members and the time; not on the order of any of them.
//   - What was picked by the same snapshot of the policy stays picked as long as the
//     member does, whatever became of its labels, taints or health. Another snapshot
//     of the policy looks at all members anew, but for the taints of those that have
//     the placement.
//   - PickN picks as many as are wanted where there are enough. More are taken by the
//     score: first the spread, then the affinity, then those that have the placement,
//     then the name, the last in the alphabet first (as released). Fewer are left by
//     giving up those that have nothing yet, and then the lowest scores.
//   - "No" is a result: each member that is not picked has a reason.
//
// It must not ask the members anything, nor decide when they get what.
package placement
