// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderer is the stage that makes of a binding what each member gets.
//
// Consumes: binding.scheduled, binding.removed, work.deleted, placement.bound; changes of
// override policies, and overrides.changed.
// Reads: the binding's Works, then the binding, its frozen content, the
// overrides, the fleet, whether the namespace is protected from deletion.
// Decides with: pkg/core/rendering.
// Commits: the Works (create, update, delete; one that is being deleted and has to
// be there is let go and made anew), beside each what its Secrets hold,
// which is in no Work, the binding's Rendered condition
// where it is False or was; on the binding of a placement, that its Works cannot be made.
// Emits: work.rendered and work.removed, one for up to 32 members, whether or not
// the Works changed; on a change of an override, binding.scheduled for each binding
// that it may concern (of its namespace, if it has one), page by page; template.touched where the frozen content
// is not there; placement.scheduled where the binding of a placement was let go that
// its Works had held; placement.waiting where Works of a placement cannot be made, and
// placement.touched where that is for something missing, and was not said yet.
//
// Twice is safe: the same binding, content, overrides and fleet yield the same
// Works, and a Work that is as it has to be is not written.
//
// Invariant: a Work goes because a binding in force leaves its cluster out, or
// because its template is gone; that the binding is missing lets none go.
//
// Invariant: of two Works of the binding in one cluster the one of the present name
// stands, and the other goes.
//
// Invariant: a Work of another binding, whatever its name, is neither written nor
// deleted: the binding says WorkNameTaken.
//
// It must not render the template: what the gate has not let through must reach
// no member. It reads it only where the binding is missing.
package renderer
