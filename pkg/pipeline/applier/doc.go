// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package applier is the stage that writes to the members what is not suspended.
//
// Consumes: work.rendered and work.removed, of one member or of several, which are
// written side by side. For a member that does not answer nobody waits: its Work goes
// on in an event of its own (work.rendered, work.removed), as does one that failed. The
// Work of a member whose Cluster names another applier it hands over in the same way,
// with the extension applier, and whoever gets that does it.
// Reads: the Work; its binding, for the suspension; the suspensions in Redis; the member's
// object. Where the Work is being deleted, live: the template, the binding and the
// Cluster (pkg/pipeline/proving), the Works of placements in the member and, for a
// placement's object, that of its policy. Where another Work has what this one wants, or
// the Work says that others want what it has, these Works.
// Decides with: pkg/core/applying.
// Commits: server-side apply or deletion in the member; the Work's conditions
// and what the member has; the Work's finalizer; on a Work that has what another wants,
// the note of that, and its end.
// Emits: work.applied, work.held, work.failed, work.deleted, of as many members as
// there is the same to tell of; binding.scheduled where a Work is being deleted that
// its binding wants, or beside one of its binding's present name, or what its Secrets
// hold is missing (of placements placement.bound); work.rendered and work.removed of a
// Work that got an object passed on, that has what another wants and did not say so, or
// that goes on in an event of its own.
//
// Of a placement's Work the objects of one kind are written four abreast, kind by kind in
// the order of its manifests; they leave in the other order. What time does not suffice for
// goes on in an event of its own, and is not done again: the Work says what was done.
//
// An object that has come by another Work of the same placement, which does not say it any
// more, is taken over: snapshots are split anew with each content.
//
// Twice is safe: what the member has already is not applied again, and a status
// that says the same is not written.
//
// Invariants: where it cannot tell what is suspended, it writes nothing. An object
// that is not ours is left alone, and none is deleted without a proof. Only the
// deletion of the template passes a suspension. A Work that is being deleted is let
// go when its object is gone, or nobody here can tell any more of it; one that has
// to be there the renderer makes anew, so that no object is ever without its Work. What
// another Work of the member wants is passed on to it, what a placement abandons is marked
// as nobody's, and what holds others' objects stays until somebody approves that.
//
// It must not write anything of a template to a member but what its Work says, and
// it must not read policies.
package applier
