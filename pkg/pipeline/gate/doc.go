// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate is the stage that decides whether the present form of the claiming
// policy may take effect on a template now.
//
// Consumes: template.claimed, template.released, template.waiting, claim.preempted.
// Reads: the binding, then the template and the policy that holds it, the feature
// gates; the Works of a template whose binding was lost.
// Decides with: pkg/core/gating.
// Commits: the binding (policy snapshot, content in force, claim, suspension), the
// frozen content, the binding's condition Active. It deletes the binding of a template
// that is gone.
// Emits: binding.activated, binding.deferred, binding.removed; template.touched if the
// claim in the event is out of date.
//
// Twice is safe: the decision depends on contents and hashes, and the events on the
// binding as it is found or left, so that a crash between commit and reply loses
// nothing.
//
// It must not choose clusters, and it must not write to a member.
package gate
