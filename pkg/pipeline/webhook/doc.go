// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook answers the API server's questions about policies that are
// about to be stored: it fills in defaults and refuses what no schema can.
//
// Consumes: AdmissionReview v1 at /mutate and /validate, of policies and
// override policies of both scopes; at /validate, of placements, their overrides
// and their snapshots. Of other kinds it has no opinion.
// Reads: the gates; which kinds live in namespaces, where a cluster policy may
// preempt or a placement selects.
// Decides with: pkg/core/admission.
// Commits: nothing. Emits: nothing.
//
// Twice is safe: what is defaulted once stays as it is.
//
// Nobody waits for it: registered with failurePolicy Ignore and a short
// timeout, so a webhook that is down or cannot tell (503) lets everything pass,
// and what passes unseen does no harm (see pkg/core/admission).
//
// It must not write to the hub, nor decide anything about what is propagated.
package webhook
