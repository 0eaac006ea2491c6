// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditor finds what is not where it has to be: templates that are not rendered,
// Works that members do not have as they say, or that nobody needs, placements without
// their Works, what Secrets hold and nobody keeps, bindings that follow nobody, replicas
// that found no room, and would now.
//
// Consumes: what others wrote to bindings and Works, and the tick.
// Decides with: pkg/core/sweeping (what comes now, and what with the next sweep),
// pkg/core/reporting, pkg/core/dependencies, pkg/core/scheduling.
// Promise: whatever is not as it has to be is announced after as many sweeps as it takes
// to announce all of it, members and namespaces by turns. What may be on its way is
// announced when two sweeps found it so, whichever replicas swept.
// Emits: template.touched, binding.scheduled, binding.removed, work.rendered,
// work.removed, placement.bound.
//
// It must not put anything right itself: it wakes who does.
package auditor
