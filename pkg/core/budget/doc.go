// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget decides which removals from a member may happen at once, and
// which are held until a person says so.
//
// Invariants:
//   - A cluster that would be left out although nothing of the template or of its
//     placement changed keeps the template, until it is let go: nobody asked for
//     that removal by name. So what nobody decides about stays.
//   - What is held together is judged together: more than a member's budget is held
//     as a whole, and stays held until it is approved, or wanted again.
//   - An approval is for what is held when it is given, and for nothing later.
//   - A cluster that left, or is leaving, has no budget: its objects stay there.
//
// It must not remove anything: it decides what a binding says, which is what every
// removal is proven by.
package budget
