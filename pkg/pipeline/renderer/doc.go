// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderer is the stage that makes of a binding what each member gets.
//
// Consumes: binding.scheduled, binding.removed, work.deleted; changes of
// override policies, and overrides.changed.
// Reads: the binding's Works, then the binding, its frozen content, the
// overrides, the fleet.
// Decides with: pkg/core/rendering.
// Commits: the Works (create, update, delete), the binding's Rendered condition
// where it is False or was.
// Emits: work.rendered and work.removed, one for each member, whether or not
// the Work changed; on a change of overrides, binding.scheduled for each binding
// that may be concerned, page by page; template.touched where the frozen content
// is not there.
//
// Twice is safe: the same binding, content, overrides and fleet yield the same
// Works, and a Work that is as it has to be is not written.
//
// It must not read the template: what the gate has not let through must reach
// no member.
package renderer
