// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies is the stage that has what a template refers to follow
// it to its clusters (propagateDeps).
//
// Consumes: binding.scheduled, binding.removed.
// Reads: the binding, its frozen content; the bindings and templates that the
// content refers to; the bindings of all that require one of these.
// Decides with: pkg/core/dependencies.
// Commits: requiredBy and the inherited suspension of the dependencies'
// bindings, and what their parents' policies say of objects that are there already
// and of what stays; their suspension in Redis; on the binding itself what it refers to.
// Emits: template.touched for each dependency; binding.removed where a
// dependency's binding serves nobody any more.
//
// Twice is safe: what is attached follows from the frozen content, and a write
// that changes nothing is not made. A dependency that does not exist yet gets
// its binding all the same, so that it follows as soon as it is made.
//
// It must not freeze or render content: that is the gate's and the renderer's,
// for dependencies as for anything else.
package dependencies
