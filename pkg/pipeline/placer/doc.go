// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placer is the stage that stores what a ClusterResourcePlacement selects, and
// its policy, in snapshots.
//
// Consumes: changes of placements, of their snapshots, and of objects of the kinds that
// placements select; placement.touched; the tick.
// Reads: the placement, its snapshots; the objects that changed, or all that are
// selected, in pages; if some are missing, the definition of their kind.
// Decides with: pkg/core/placing.
// Commits: changed objects until they were read, in Redis (pkg/redis/pending); resource
// and policy snapshots; the placement's finalizers. Of the placement's status only the
// condition Scheduled if its selectors are refused, and KindsGranted if Sluice lacks a
// right to what they select.
// Emits: placement.snapshotted, which says that the snapshots are up to date, also of a
// placement that is being deleted; placement.touched for each placement that is due.
//
// The first snapshot is written at once, as is one for changed selectors. Changes of
// objects are collected for 15 s, and there are at least 30 s between two snapshots. A
// changed object costs one read. All objects are read again if Redis was lost, if too
// many changed, if the hub serves new kinds, and while a right to some is missing.
//
// Twice is safe: the plan depends on what is stored, nothing is written if nothing
// changed, and a half-written snapshot is finished or deleted.
//
// It must not treat as deleted what it cannot read, or what went with its kind: that
// stays as the latest snapshot has it. It must not decide where anything goes.
package placer
