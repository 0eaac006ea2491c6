// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package removals judges what members would lose though nobody asked for it by name.
//
// Promise: within a member's budget (pkg/core/budget) it may go, beyond it all of it
// stays, and the Cluster and the policies say so; what is approved goes. A judgement is
// of a member as a whole, and stands on the bindings: any replica goes on where another
// one ended.
// Commits: on bindings, that a held removal may go; the condition RemovalHeld of Clusters.
// Emits: binding.activated where something may go.
//
// It must not remove anything.
package removals
