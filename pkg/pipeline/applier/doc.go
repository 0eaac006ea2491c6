// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package applier is the stage that applies Works to members, unless they are
// suspended, and removes from members what has to go.
//
// Consumes: work.rendered and work.removed, each for one member or for several, which
// are handled in parallel.
// Reads: the Work, its binding, the suspensions in Redis, the member's object; for a
// Work that is being deleted, live, the evidence of pkg/pipeline/proving; other Works
// that want the same object, or are said to have it.
// Decides with: pkg/core/applying.
// Commits: server-side apply or deletion in the member; the Work's status and
// finalizer; on a Work that has what another one wants, a record of that.
// Emits: work.applied, work.held, work.failed, work.deleted; binding.scheduled or
// placement.bound if a Work has to be rendered again; work.rendered and work.removed
// for a Work that is to be handled again, by itself, or by another applier.
//
// Twice is safe: what the member has is not applied again, nor a status written again.
//
// Invariants:
//   - If it is not known what is suspended, nothing is written. Nothing of a Work is that
//     is nobody's (propagation.Work.Confirmed).
//   - Objects of others are left alone, and none is deleted without a proof. A
//     suspension holds removals back, unless the template is deleted.
//   - A Work that is being deleted keeps its finalizer until its object is gone or
//     nothing manages it any more. No object is left without its Work: one that is passed
//     on to another is recorded there first.
//
// It must not write to a member what is not in a Work, and it must not read policies.
package applier
