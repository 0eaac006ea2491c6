// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package page tells which bindings a sweep looks at: all of them where the process
// watches them, which costs no request, and else a page, behind that of the sweep before.
//
// Invariants:
//   - Where the page begins is a position in Redis: whoever sweeps goes on there.
//   - Each binding is on a page of each round; one that is made or written meanwhile at
//     the latest on one of the next.
//   - A page stays until the rooms are through with it, and each of them is after a number
//     of sweeps that depends on the page alone.
//   - All bindings are listed only where a room asks for them.
//
// It must not know what is looked for on a page.
package page
