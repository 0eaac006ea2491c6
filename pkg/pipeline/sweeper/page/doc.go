// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package page determines which bindings a sweep looks at: all of them if the process
// watches them, which costs no request, and otherwise one page after another.
//
// Invariants:
//   - The start of the page is a position in Redis, so that any replica continues
//     there.
//   - Each binding is on a page of each round; one that is created or written meanwhile
//     is on one in the next round at the latest.
//   - A page is kept until all rooms are done with it, which takes a number of sweeps
//     that depends on the page alone.
//   - All bindings are listed only if a room asks for them.
//
// It must not know what the rooms look for.
package page
