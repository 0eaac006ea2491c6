// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package members finds what changed in members while nobody listened, where this
// process does not watch them: a member's source that is down, or starts anew, tells of
// nothing meanwhile, and drops an event that it cannot send.
//
// Consumes: the tick.
// Promise: what somebody else did to an object of ours in a ready member is told as the
// member's source would have told it, at least once, whatever crashed: each member is
// asked for what happened to each kind since the position in Redis, which moves after the
// broker has taken what stands before it. Where a member does not know that any more, all
// of its Works are looked at once. Who has just joined begins at its present.
// Commits: the condition Watchable of a Cluster whose credentials may not watch a kind.
// Emits: events as members' sources do.
//
// It costs a member one request for each kind that the sources follow, in 45 seconds at
// most, and the reporter one event for each object that changed, however often. What its
// source has told is told once more, and costs reads. Members are looked at side by side,
// who waited longest first; one that does not answer costs its own time.
//
// It must not decide what follows from a change.
package members
