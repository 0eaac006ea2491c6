// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweeper is the stage that finds changes that no event told of. It is divided
// into rooms, one package for each sort of thing that may be missed, and calls each of
// them on every tick:
//
//   - rebuild fills Redis when it lost its data, or the hub was restored,
//   - registrar handles members that join, leave or change,
//   - removals decides about removals that nobody asked for,
//   - auditor finds objects that are not as they should be,
//   - due finds pending changes that may take effect by now,
//   - count keeps the counts in policies' statuses up to date,
//   - interpreters applies changed rules of kinds,
//   - replay announces what changed while no source was watching,
//   - members does so for members.
//
// Package tick is the state of one sweep, and page the bindings that it looks at.
//
// Consumes: the tick of a PingSource; index.lost; gates.changed; sources.changed; what
// others wrote to bindings, Works, Clusters and policies.
// Commits and emits: what the rooms do.
//
// Twice is safe: a sweep announces, and the receiver reads the live
// state. What it writes is conditional. Its state is in Redis, so any replica
// continues. A failure for one object does not end the sweep for others.
//
// It must not decide what other stages decide: it only sends them events.
package sweeper
