// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Types of a binding's conditions.
const (
	// ConditionScheduled: clusters are chosen as the placement asks.
	ConditionScheduled = "Scheduled"
	// ConditionFullyApplied: each chosen cluster holds the object.
	ConditionFullyApplied = "FullyApplied"
)

// Reasons of ConditionScheduled.
const (
	// ReasonSuccess: clusters are chosen.
	ReasonSuccess = "Success"
	// ReasonSchedulerError: scheduling was not possible just now, for instance
	// because the hub did not answer.
	ReasonSchedulerError = "SchedulerError"
	// ReasonNoClusterFit: no cluster fits the placement.
	ReasonNoClusterFit = "NoClusterFit"
	// ReasonUnschedulable: clusters fit, and have no room.
	ReasonUnschedulable = "Unschedulable"
)

// Reasons of ConditionFullyApplied.
const (
	ReasonFullyAppliedSuccess = "FullyAppliedSuccess"
	ReasonFullyAppliedFailed  = "FullyAppliedFailed"
)
