// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduler is the stage that picks the clusters of a binding, and the
// replicas of each, and the members of a placement.
//
// Consumes: binding.activated (of bindings that ask for no other scheduler);
// placement.snapshotted; cluster.changed.
// Reads: the binding, the fleet; the gates where a cluster would be left out; of a
// binding that names no cluster its Works, for it may have been made anew; of a
// placement its latest policy snapshot and its bindings.
// Decides with: pkg/core/scheduling and its placement, pkg/core/budget.
// Commits: spec.clusters of the binding, what of it is held (a cluster that would be
// left out though nobody asked for that), and the condition Scheduled where it
// is False or was. The first True is left to the reporter, which writes the
// status anyway. Of a placement the status of its policy snapshot, which is the whole
// decision: the bindings follow from it, and are another stage's.
// Emits: binding.scheduled; on cluster.changed, binding.activated for each
// binding whose clusters would be others now, and placement.snapshotted for each
// placement that may pick it; placement.scheduled.
//
// Twice is safe: the same binding and fleet yield the same clusters, and a
// write that changes nothing is not made.
//
// Who a placement picked stays picked by what the policy snapshot says already.
//
// It must not read policies: the binding holds the snapshot that is in force.
package scheduler
