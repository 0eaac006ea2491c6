// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the admission webhook for policies, placements and resource
// interpreters: it fills in defaults, and refuses what a schema cannot check.
//
// Consumes: AdmissionReview v1 at /mutate and /validate, of policies and override
// policies of both scopes; at /validate also of placements, their overrides and their
// snapshots, and of resource interpreters. Objects of other kinds are allowed.
// Reads: the feature gates; which kinds are namespaced, if a cluster policy may preempt
// or a placement selects them.
// Decides with: pkg/core/admission.
// Commits: nothing. Emits: nothing.
//
// Twice is safe: defaults that are set stay as they are.
//
// Nothing depends on it: it is registered with failurePolicy Ignore and a short
// timeout, so if it is down or cannot decide (503), objects are stored unchecked, which
// does no harm (see pkg/core/admission).
//
// It must not write to the hub, nor decide anything about what is propagated.
package webhook
