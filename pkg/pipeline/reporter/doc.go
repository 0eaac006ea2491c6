// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporter is the stage that collects the status of objects in members and
// aggregates it on the hub.
//
// Consumes: work.applied, work.held, work.failed; events of the members' objects.
// Reads: the member's object, the Work; the binding and all of its Works; the clusters, if
// one of the binding's has no Work; the template.
// Decides with: pkg/core/reporting, pkg/core/applying (is the object what was
// applied?).
// Commits: the manifest's status on the Work; the aggregated status and the conditions
// of the binding; the template's status, and its number of replicas if the template
// leaves that to its members.
// Emits: template.reported, placement.reported; work.rendered if a member's object is
// not what was applied; work.removed if an object is gone whose Work is being deleted.
//
// Twice is safe: a status that says the same is not written. The status of a binding is
// written when all of its Works have a result, so that a change of a template costs one
// status write and not one for each member; a Work without a result emits an event when
// it has one.
//
// It must not write to a member: the applier corrects drift.
package reporter
