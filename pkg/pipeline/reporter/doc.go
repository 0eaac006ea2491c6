// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporter is the stage that brings back how a template is doing.
//
// Consumes: work.applied, work.held, work.failed; events of the members'
// objects.
// Reads: the member's object, the Work; the binding and all of its Works; the
// template.
// Decides with: pkg/core/reporting, pkg/core/applying (is it what was applied?).
// Commits: the manifest's status on the Work; the aggregated status and the
// conditions of the binding; the template's status, and its number of replicas where
// it leaves that to its members.
// Emits: template.reported, placement.reported; work.rendered where a member's object
// is not what was applied; work.removed where one has gone whose Work is being deleted.
//
// Twice is safe: a status that says the same is not written. A binding is
// written once all of its Works have come to a conclusion, so that a change of
// a template costs one status write and not one for each member; every Work
// that has none yet announces it when it has.
//
// It must not write to a member: drift is the applier's to mend.
package reporter
