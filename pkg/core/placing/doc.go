// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placing decides what a ClusterResourcePlacement propagates: which objects its
// selectors select, which fields of them, in which order, split into which snapshots,
// and when a new snapshot is due.
//
// Invariants:
//   - Whether an object is selected depends on the selectors, the object, and whether
//     its namespace is selected; never on the order in which changes are seen.
//   - Equal objects give equal content, byte for byte, whatever the order of their
//     keys, and whether they were read from the API server or from a snapshot.
//   - Updating the content object by object gives what selecting everything again would
//     give.
//   - A snapshot counts only if all of its parts exist. The first part, which says how
//     many there are, is written last.
//   - If there is a latest snapshot, there is one at every moment between two writes of
//     a plan; the latest is never deleted.
//   - An index is used once: two snapshots of one name never differ.
//   - Objects of a kind that is not served or not granted stay as the latest snapshot
//     has them.
//
// It must not read, write, or know the time, and must not decide where anything goes.
package placing
