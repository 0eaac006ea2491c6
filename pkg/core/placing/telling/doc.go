// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package telling computes the status of a placement: the conditions of each object in
// a member, of each Work, of each member, and of all together.
//
// Invariants:
//   - A condition has the generation that it is about, and exists only while all
//     conditions before it are True.
//   - A state that is about to change is not written: Summary.Moving reports that, so
//     that a change costs one write and not one for each step.
//   - The messages are the released ones, with corrected spelling.
//   - At most 100 objects of a member are named.
//   - A status fits into etcd. If it had to be shortened, it says so. Equal statuses
//     are shortened equally, so that shortening causes no writes.
//
// It must not decide where anything goes, or when.
package telling
