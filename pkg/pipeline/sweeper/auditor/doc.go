// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditor finds what is not as it should be: templates that are not rendered in
// each of their clusters, or in others, too; Works whose members do not have what is in
// them or that nothing needs; placements without their Works; Secrets whose content is
// not stored; bindings of dependencies that nothing needs; replicas for which there was
// no room, and is some now; statuses that name members which left.
//
// Consumes: what others wrote to bindings and Works, and the tick.
// Decides with: pkg/core/sweeping (what is announced now, and what by the next sweep),
// pkg/core/reporting, pkg/core/dependencies, pkg/core/scheduling.
// Emits: template.touched, binding.scheduled, binding.removed, work.rendered,
// work.removed, work.failed, placement.bound.
//
// Invariants:
//   - Everything that is not as it should be is announced, in as many sweeps as that
//     takes; members and namespaces take turns.
//   - What may be about to change is announced when two sweeps have found it, in any
//     replica.
//
// It must not correct anything itself: it sends events to the stages that do.
package auditor
