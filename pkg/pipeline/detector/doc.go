// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package detector is the stage that finds out which policy claims a template.
//
// Consumes: events of ApiServerSource about templates and policies;
// template.touched; policy.changed.
// Reads: the template, its candidates through the index, the gates; of a policy, the
// revision of what it says now.
// Decides with: pkg/core/claiming.
// Commits: the claim on the template; the claim map, the selector index and the
// waiting set; the policy's suspension; the revision of what a policy says, where
// there is none yet, which nothing in the pipeline reads. Where the API server has a
// policy in an older version than Redis knows, that Redis is to be built anew
// (pkg/pipeline/inputs).
// Emits: template.claimed, template.released, template.waiting,
// template.contested; template.touched for each template that a changed policy
// may concern, page by page; gates.changed where the ConfigMap of the gates did.
//
// Twice is safe: the claim follows from the objects alone, a write that would
// change nothing is not made, and what is emitted follows from the claim as it
// is found or left. What a source tells of Sluice's own writes, as of a claim or a
// status, is not taken at all where this process has told of the rest.
//
// It must not have a policy wait for its history: what the hub refuses to keep is told
// in a Kubernetes event, and the policy acts.
//
// It must not take a template from a living policy: that is the preemptor's.
package detector
