// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget decides which removals from a member may happen at once, and
// which are held until a person says so.
//
// Invariants:
//   - A cluster that would be left out although neither the placement nor the replicas
//     changed keeps the template until the removal is allowed: nobody asked for it by
//     name. So without a decision the object stays.
//   - The removals that are held for a member are judged together: if they exceed its
//     budget, all of them stay held until a person approves them or the objects are
//     wanted again.
//   - An approval covers the removals that are held when it is given, and no later
//     ones.
//   - A cluster that is unjoined, or being unjoined, has no budget: its objects stay
//     there.
//
// It must not remove anything: it decides which clusters a binding names, and each
// removal is proven from the binding.
package budget
