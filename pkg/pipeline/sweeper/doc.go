// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweeper is the stage that finds what was missed. It has a room for each sort of
// that, and does nothing itself but show events in, and have each room do its part with
// each tick:
//
//   - rebuild fills Redis where it lost its data, or the hub went back,
//   - registrar keeps the register of members: joined, left, ready, MemberClusters,
//   - removals judges what members would lose though nobody asked for it,
//   - auditor finds what is not where it has to be,
//   - due finds pending changes that may act by now,
//   - count keeps the counts in policies' statuses,
//   - interpreters has rules of kinds that changed take effect, and says whether they act,
//   - replay announces what changed while no source listened,
//   - members announces what changed in members while no source listened there,
//   - tick is the sweep that they share: what is announced, how far each came,
//   - and page the bindings that one looks at.
//
// Consumes: the tick of a PingSource; index.lost; gates.changed; what others wrote to
// bindings, Works, Clusters and policies; that a source started anew.
// Commits, decides and emits: what the rooms say. Where the process does not watch the
// hub, it hands dead letters to the broker once more (pkg/redis/deadletters).
//
// All that a sweep has to know of those before it is in Redis: two replicas may sweep at
// once, which announces twice, and either goes on where the other one ended. What fails
// for one thing is told of, and ends the sweep for no other; each room has its time.
//
// Twice is safe: it announces, and who receives an announcement reads the live
// state; what it writes is conditional.
//
// It must not decide what the other stages decide: it only wakes them.
package sweeper
