// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package members finds what changed in members that this process does not watch, while
// their source was not watching either: a source that is down or starting reports
// nothing, and drops events that it cannot send.
//
// Consumes: the tick.
// Commits: the condition Watchable of a Cluster whose credentials may not watch a kind.
// Emits: events as members' sources do.
//
// Invariants:
//   - Each change that somebody else made to an object of Sluice's in a ready member is
//     announced at least once. Each member is asked for the changes of each kind since
//     the position in Redis, which advances after the broker has accepted the events.
//   - If a member does not have the changes any more, all of its Works are checked
//     once. For a member that has just joined, the position is the present.
//   - It costs a member one request for each kind in 45 seconds at most, and the
//     reporter one event for each changed object, which its source may have sent
//     already.
//   - Members are handled in parallel, in the order in which they waited; one that does
//     not answer does not delay others.
//
// It must not decide what follows from a change.
package members
