// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderer is the stage that turns a binding into a Work for each member.
//
// Consumes: binding.scheduled, binding.removed, work.deleted, placement.bound; changes
// of override policies, and overrides.changed.
// Reads: the binding's Works, then the binding, its frozen content, the overrides, the
// clusters, whether the namespace is protected from deletion.
// Decides with: pkg/core/rendering.
// Commits: the Works, and their condition Kept; the content of their Secrets, stored
// beside them; the binding's condition Rendered if it is or was False; on the binding of
// a placement, that its Works cannot be rendered.
// Emits: work.rendered and work.removed, each for up to 32 members, also if the Work
// did not change; binding.scheduled for Works that could not be written while others
// could and, page by page, for each binding that a changed override may concern;
// template.touched if the frozen content is missing; of placements placement.scheduled,
// placement.waiting and placement.touched.
//
// Twice is safe: the same inputs give the same Works, which are written only if changed.
//
// Invariants:
//   - A Work is deleted because a binding in force leaves its cluster out, or because
//     its template is gone, never because the binding is missing.
//   - Of two Works of a binding in a cluster, the one with the present name stays.
//   - A Work that is being deleted is made anew only while another one of its binding
//     tells what the member has.
//   - A placement's Work that is being deleted is made anew when its member has nothing
//     that the Work records and the new one lacks.
//   - A Work of another binding is never touched: the binding says WorkNameTaken.
//
// It must not render the template itself, only content that the gate passed.
package renderer
