// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies is the stage that propagates what a template refers to along
// with the template (propagateDeps).
//
// Consumes: binding.scheduled, binding.removed.
// Reads: the binding, its frozen content; the bindings and templates that the content
// refers to; the bindings of all that require one of these.
// Decides with: pkg/core/dependencies.
// Commits: on the bindings of dependencies requiredBy, the inherited suspension, and
// how the parents' policies resolve conflicts and preserve objects; their suspension in
// Redis; on the binding itself what it refers to.
// Emits: template.touched for each dependency; binding.removed if no other template
// needs the binding of a dependency any more.
//
// Twice is safe: what is attached depends on the frozen content, and a write that would
// change nothing is not made. A dependency that does not exist yet gets a binding all
// the same, so that it is propagated as soon as it is created.
//
// It must not freeze or render content: the gate and the renderer do, for dependencies
// as for anything else.
package dependencies
