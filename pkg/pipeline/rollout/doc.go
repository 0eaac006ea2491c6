// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout is the stage that gives a placement's snapshots to its members, as
// many at a time as its strategy allows.
//
// Consumes: placement.scheduled, placement.reported; changes of overrides of
// placements; the tick.
// Reads: the placement, the status of its latest policy snapshot, the metadata of its
// resource snapshots, its bindings; the overrides' snapshots and, where there are any,
// what is selected.
// Decides with: pkg/core/rollout; which snapshot is the newest with pkg/core/placing.
// Commits: the bindings, in all but their status: nobody else writes them; the
// snapshots of overrides. For a
// placement that is being deleted, its bindings go, and then its finalizer.
// Emits: placement.bound for each binding that was written, and on placement.scheduled
// for each whose status says nothing of its present form; placement.waiting where
// somebody waits; placement.touched where there are snapshots that nobody keeps; on
// the tick, and on a change of an override, placement.scheduled for each placement that
// has to be looked at again.
//
// A new binding is made in the state that it shall have, so that a new placement
// costs one write a member.
//
// Nothing waits in here. What only time will tell is looked at with a tick. A rollback
// is an annotation of the placement that names the index of an earlier snapshot: it is
// the one that all members shall have, as long as the annotation stays.
//
// Twice is safe: the plan follows from what is stored, every write is conditional on
// it, and what was carried out is not planned again.
//
// It must not decide who is picked.
package rollout
