// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package tick is one sweep: what its rooms announce, and how far they have come.
//
// Invariants:
//   - What one sweep has to know of the one before it is among the positions in
//     Redis, so that any replica may go on.
//   - It is bounded, however much is found: as many names as a sweep may announce.
//   - It is stored after what it stands for was announced or is about to be: who
//     dies in between has it announced twice.
//
// It must not look for anything, nor know what the rooms look for.
package tick
