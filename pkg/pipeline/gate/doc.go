// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate is the stage that decides whether the claiming policy's current
// form may act on a template now.
//
// Consumes: template.claimed, template.released, template.waiting,
// claim.preempted.
// Reads: the binding, then the template and the policy that holds it, the
// gates.
// Decides with: pkg/core/gating.
// Commits: the binding (policy snapshot, content acted on, claim, suspension),
// the frozen content, the binding's Active condition; removes the binding of a
// template that is gone.
// Emits: binding.activated, binding.deferred, binding.removed;
// template.touched where the claim it was told of does not stand.
//
// Twice is safe: the answer follows from contents and hashes; what is emitted
// follows from the binding as it is found or left, so that a crash between
// commit and reply loses nothing.
//
// It must not choose clusters, and it must not write to a member.
package gate
