// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placing decides what a ClusterResourcePlacement carries: which objects
// its selectors select, what of them, in which order, cut into which snapshots,
// and when a new snapshot is due.
//
// Invariants:
//   - Who is selected follows from the selectors, the object, and whether its
//     namespace is selected; never from the order in which changes were heard of.
//   - Equal objects make equal content, byte for byte, whatever the order of
//     their keys, and whether they were read now or stand in a snapshot.
//   - What is amended object by object is what selecting afresh would have found.
//   - A snapshot counts where all of its parts are there. The first part, which
//     says how many there are, is written last.
//   - At no moment between two writes of a plan is there no latest snapshot where
//     there was one; the latest is never deleted.
//   - An index is used once: no two snapshots of one name ever differ.
//   - What nobody can tell of (its kind is not served, or not granted) stays as the
//     latest snapshot has it.
//
// It must not read, write, or know the time; nor decide where anything goes.
package placing
