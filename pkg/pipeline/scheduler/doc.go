// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduler is the stage that picks the clusters of a binding, and the
// replicas of each.
//
// Consumes: binding.activated (of bindings that ask for no other scheduler);
// cluster.changed.
// Reads: the binding, the fleet.
// Decides with: pkg/core/scheduling.
// Commits: spec.clusters of the binding, and the condition Scheduled where it
// is False or was. The first True is left to the reporter, which writes the
// status anyway.
// Emits: binding.scheduled; on cluster.changed, binding.activated for each
// binding whose clusters would be others now.
//
// Twice is safe: the same binding and fleet yield the same clusters, and a
// write that changes nothing is not made.
//
// It must not read policies: the binding holds the snapshot that is in force.
package scheduler
