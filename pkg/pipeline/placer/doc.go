// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placer is the stage that keeps what a ClusterResourcePlacement selects,
// and where it wants that, in snapshots.
//
// Consumes: changes of placements, of their snapshots and of objects of the kinds
// that placements select; placement.touched; the tick.
// Reads: the placement, its snapshots; the objects that changed, or all that are
// selected, by pages.
// Decides with: pkg/core/placing.
// Commits: what changed, until it was seen, in Redis (pkg/redis/pending); resource and
// policy snapshots; the placement's finalizers; its condition Scheduled where its
// selectors are refused, KindsGranted where Sluice lacks a right to what they select, and
// nothing else of its status.
// Emits: placement.snapshotted, which says that what there is to say stands in the
// snapshots, also of a placement that is being deleted; placement.touched for
// each placement that is due.
//
// The first snapshot comes at once, as does one for other selectors. Changes of
// objects are collected for 15 s from the first one on, and 30 s lie between two
// snapshots. A change of one object costs a read of that object: the others are
// taken from the latest snapshot. All are read again where Redis was lost, where
// more changed than is worth being read one by one, where the hub serves kinds that it
// did not serve, and, ever more seldom, while a right to some of it is missing.
//
// Twice is safe: what is planned follows from what is stored, nothing is written
// where nothing changed, and what was half written is finished or dropped.
//
// It must not take for gone what it cannot read: that stays as the latest snapshot
// has it. It must not decide where anything goes.
package placer
