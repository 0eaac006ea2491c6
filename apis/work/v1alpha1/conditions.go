// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Types of a Work's conditions.
const (
	// ConditionApplied: the member holds what the Work says.
	ConditionApplied = "Applied"
	// ConditionProgressing: the member is being brought to what the Work says.
	ConditionProgressing = "Progressing"
	// ConditionAvailable: the objects exist in the member and do their job.
	ConditionAvailable = "Available"
	// ConditionDegraded: the objects have for some time not been what the Work
	// says.
	ConditionDegraded = "Degraded"
	// ConditionDispatching: the Work may be applied; False while it is
	// suspended.
	ConditionDispatching = "Dispatching"
)

// Reasons and messages of ConditionDispatching.
const (
	ReasonSuspendDispatching  = "SuspendDispatching"
	MessageSuspendDispatching = "Work dispatching is in a suspended state."

	ReasonDispatching  = "Dispatching"
	MessageDispatching = "Work is being dispatched to member clusters."
)

// Reasons of ConditionApplied.
const (
	ReasonAppliedSuccessful = "AppliedSuccessful"
	ReasonAppliedFailed     = "AppliedFailed"
)

// Reasons of the Kubernetes events that tell whether a Work's objects are applied.
const (
	EventReasonSyncSucceed = "SyncSucceed"
	EventReasonSyncFailed  = "SyncFailed"
)

// EventReasonWorkDispatching is the reason of the Kubernetes event that tells
// of a suspension, and of its end.
const EventReasonWorkDispatching = "WorkDispatching"
