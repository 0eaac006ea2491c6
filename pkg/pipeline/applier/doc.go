// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package applier is the stage that writes to one member, behind the brake.
//
// Consumes: work.rendered and work.removed of its cluster: one Trigger for each
// member, so that a dead member's backlog delays nobody.
// Reads: the Work; its binding, for the suspension and, where the Work is being
// deleted, whether it still exists; the brake in Redis; the member's object.
// Decides: suspended? whose object is it? is there anything to change?
// Commits: server-side apply or deletion in the member; the Work's conditions
// and what the member has; the Work's finalizer.
// Emits: work.applied, work.held, work.failed, work.deleted.
//
// Twice is safe: what the member has already is not applied again, and a status
// that says the same is not written.
//
// Invariants: if the brake cannot be asked, the member is not written. An object
// that is not ours is left alone. Only the deletion of the template passes a
// suspension.
//
// It must not read templates or policies.
package applier
