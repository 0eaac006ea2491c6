// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package preemptor is the stage that takes a template from a policy for another one
// that may preempt it.
//
// Consumes: template.contested.
// Reads: the template, its candidates through the index, the feature gates.
// Decides with: pkg/core/claiming, which asks pkg/core/preemption.
// Commits: the claim on the template (conditional), the claim map.
// Emits: claim.preempted; template.claimed if no policy may preempt any more;
// template.touched if the detector has to decide.
//
// Twice is safe: which policy may preempt depends on the objects alone, and the claim
// is written only if nobody else wrote the template meanwhile.
//
// It must not list templates.
package preemptor
