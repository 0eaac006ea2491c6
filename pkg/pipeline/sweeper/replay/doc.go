// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay finds what changed while nobody listened, on a hub that this process
// does not watch: sources tell nothing of what exists when they start, and drop an event
// that they cannot send.
//
// Consumes: the tick, changes of policies, and that a source started anew.
// Decides with: pkg/core/reporting (does anything follow from a change yet?).
// Promise: every change is announced as a source would have, at least once, whatever
// crashed: it asks for all changes of each kind since the position in Redis, and moves
// that after the broker has taken what stands before it. The sources follow the kinds
// that policies and placements select; one that nobody selects any more lingers.
// Emits: events as sources do; placement.touched for an object that a placement may
// select, and that changed where no source looks.
//
// It must not decide what follows from a change.
package replay
