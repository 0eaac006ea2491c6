// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package tick is the state of one sweep: what its rooms announce, and how far they
// came.
//
// Invariants:
//   - What a sweep has to know of the one before it is stored as positions in Redis, so
//     that any replica continues.
//   - It has a maximum size, however much is found: no more names than a sweep may
//     announce.
//   - It is stored after its announcements were made or are certain to be made: after a
//     crash in between they are made twice.
//
// It must not look for anything, nor know what the rooms look for.
package tick
