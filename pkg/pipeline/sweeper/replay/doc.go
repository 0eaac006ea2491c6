// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay finds what changed on a hub that this process does not watch, while no
// source was watching: sources report nothing about what exists when they start, and
// drop events that they cannot send.
//
// Consumes: the tick, changes of policies, and the start of a source.
// Decides with: pkg/core/reporting (has a change been handled completely?).
// Emits: events as sources do; placement.touched for an object that a placement may
// select, and that changed where no source watches.
//
// Invariants:
//   - Every change is announced at least once, whatever crashes. The hub is asked for
//     all changes of each kind since the position in Redis, which advances after the
//     broker has accepted the events.
//   - Where the API server does not have all changes since then, it is asked for a list;
//     what Redis knows and the list does not have is announced as deleted.
//   - The sources watch the kinds that policies and placements select; a kind that is
//     no longer selected is watched for some time.
//
// It must not decide what follows from a change.
package replay
