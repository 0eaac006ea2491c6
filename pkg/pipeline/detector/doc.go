// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package detector is the stage that finds out which policy claims a template.
//
// Consumes: events of ApiServerSource about templates and policies; template.touched;
// policy.changed.
// Reads: the template, its candidates through the index, the feature gates; the
// revision of a policy's present spec.
// Decides with: pkg/core/claiming.
// Commits: the claim on the template; the claim map, the selector index and the waiting
// set; the policy's suspension; the revision of a policy's present spec, if there is
// none yet, which the pipeline itself never reads. If the API server has a policy in an
// older version than Redis knows, Redis is marked to be rebuilt (pkg/pipeline/inputs).
// Emits: template.claimed, template.released, template.waiting, template.contested;
// template.touched for each template that a changed policy may concern, page by page;
// gates.changed if the ConfigMap of the feature gates changed.
//
// Twice is safe: the claim depends on the objects alone, a write that would change
// nothing is not made, and the events depend on the claim as it is found or left. A
// source's events about Sluice's own writes are skipped if this process has announced
// everything else already.
//
// It must not let a policy wait for its history: if the hub refuses to store it, a
// Kubernetes event says so and the policy takes effect. It must not take a template
// from a policy that still selects it: the preemptor does.
package detector
