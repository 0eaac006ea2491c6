// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout is the stage that rolls out a placement's snapshots to its members,
// to as many at a time as its strategy allows.
//
// Consumes: placement.scheduled, placement.reported; changes of overrides of
// placements, of ClusterStagedUpdateRuns and of ClusterApprovalRequests; the tick.
// Reads: the placement, the status of its latest policy snapshot, the metadata of its
// resource snapshots, its bindings, and its Works before it is let go; the overrides'
// snapshots and, if there are any, the selected objects; where an override is missing, when
// its kind was defined; its runs, their strategies and requests.
// Decides with: pkg/core/rollout and, how a run goes on, pkg/core/rollout/staged; which
// snapshot is the newest with pkg/core/placing.
// Commits: the bindings, except for their status, as the only stage; the snapshots of
// overrides; the runs' statuses, and their requests. For a placement that is being
// deleted, or is gone, it deletes the bindings; its finalizer goes after them and the Works.
// Emits: placement.bound for each binding that was written, and on placement.scheduled
// for each whose status is not about its present generation, or that is being deleted,
// whatever else is not known; placement.waiting if a member has to wait;
// placement.touched if there are snapshots beyond the history limit; on the tick, and
// on a change of an override, a run or a request, placement.scheduled for each
// placement to check again, and for its own where a step failed after others were done.
//
// Nothing blocks: what depends on time is checked on the tick. For a rollback, an
// annotation of the placement names the index of the snapshot that all members get.
//
// Twice is safe: the plan depends on what is stored, every write is conditional on
// that, and a step that was done is not planned again.
//
// It must not decide which members are picked.
package rollout
