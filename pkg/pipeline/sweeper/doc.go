// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweeper is the stage that finds what was missed.
//
// Consumes: the tick of a PingSource; index.lost; gates.changed; what others
// wrote to bindings, Works, Clusters and policies; that a source started anew.
// Reads: clusters, bindings, Works, policies, templates; whether each member
// answers.
// Decides with: pkg/core/gating and pkg/core/claiming (is a change due?),
// pkg/core/dependencies (does a binding follow one that says nothing of it?),
// pkg/core/budget (which removals may go that nobody asked for?),
// pkg/core/sweeping (what comes now, and what with the next sweep).
// Commits: the policies' counts; the conditions Ready and RemovalHeld of Clusters, the
// latter of policies, too; on bindings, that a held removal may go; the namespaces of
// the Clusters' Works; all of Redis where it is not built; the Works of a cluster that
// left.
// Where the process does not watch the hub, it also asks, with each tick and when a
// source has started anew, for all changes since the last, and announces those from
// which something may still follow (pkg/core/reporting) as the sources should have;
// with each tick it hands the dead letters to the broker once more. It has the
// sources follow the kinds that policies select.
// Emits: template.touched, binding.scheduled, work.rendered and work.removed
// for what is not where it has to be; cluster.changed; placement.touched for an object
// that a placement may select, and that changed where no source looks.
//
// How far its rounds have come is in Redis. What fails for one thing is told of, and
// ends the sweep for no other.
//
// Twice is safe: it announces, and who receives an announcement reads the live
// state; what it writes is conditional.
//
// It must not decide what the other stages decide: it only wakes them.
package sweeper
