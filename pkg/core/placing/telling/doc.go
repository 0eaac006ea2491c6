// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package telling says how a placement is doing: of each object in a member, of
// each Work, of each member, and of all.
//
// Invariants:
//   - A condition is about the generation that it observed, and is there only
//     while all before it are True.
//   - What is on its way is not told: Settled says when there is something to
//     tell, so that a change costs one write and not one for each step.
//   - The messages are the released ones, without what was misspelt there.
//   - At most 100 objects of a member are named.
//   - A status fits into etcd, whatever there is to say; what was cut is said. Equal
//     statuses are cut equally, so that nothing is written because of it.
//
// It must not decide where anything goes, or when.
package telling
