// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package preemptor is the stage that takes a template from a living policy for
// one that is entitled to it.
//
// Consumes: template.contested.
// Reads: the template, its candidates through the index, the gates.
// Decides with: pkg/core/claiming, which asks pkg/core/preemption.
// Commits: the claim on the template (conditional), the claim map.
// Emits: claim.preempted; template.claimed where nobody is entitled any more;
// template.touched where it is the detector's to decide.
//
// Twice is safe: who is entitled follows from the objects alone, and the claim
// is written only if nobody else wrote the template meanwhile.
//
// It must not list templates.
package preemptor
