// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

// Types of a placement's conditions, in their order. Each is about the
// generation that it observed, and is worth something only if all before it are
// True.
const (
	ConditionPlacementScheduled        = "ClusterResourcePlacementScheduled"
	ConditionPlacementRolloutStarted   = "ClusterResourcePlacementRolloutStarted"
	ConditionPlacementOverridden       = "ClusterResourcePlacementOverridden"
	ConditionPlacementWorkSynchronized = "ClusterResourcePlacementWorkSynchronized"
	ConditionPlacementApplied          = "ClusterResourcePlacementApplied"
	ConditionPlacementAvailable        = "ClusterResourcePlacementAvailable"
	// ConditionPlacementDiffReported stands in for Applied and Available where
	// the apply strategy is ReportDiff.
	ConditionPlacementDiffReported = "ClusterResourcePlacementDiffReported"
)

// Types of the conditions of one member in a placement's status, of a binding
// and, as far as they concern it, of a Work and of a manifest, in their order.
const (
	ConditionScheduled        = "Scheduled"
	ConditionRolloutStarted   = "RolloutStarted"
	ConditionOverridden       = "Overridden"
	ConditionWorkSynchronized = "WorkSynchronized"
	ConditionApplied          = "Applied"
	ConditionAvailable        = "Available"
	ConditionDiffReported     = "DiffReported"
)

// Reasons of ConditionPlacementScheduled, and of Scheduled of a policy's
// snapshot.
const (
	ReasonSchedulingPolicyFulfilled   = "SchedulingPolicyFulfilled"
	ReasonSchedulingPolicyUnfulfilled = "SchedulingPolicyUnfulfilled"
	ReasonSchedulePending             = "SchedulePending"
	ReasonInvalidResourceSelectors    = "InvalidResourceSelectors"
)

// Reasons of Scheduled of one member.
const (
	ReasonScheduled      = "Scheduled"
	ReasonScheduleFailed = "ScheduleFailed"
)

// Reasons of RolloutStarted.
const (
	ReasonRolloutStarted              = "RolloutStarted"
	ReasonRolloutStartedUnknown       = "RolloutStartedUnknown"
	ReasonRolloutNotStartedYet        = "RolloutNotStartedYet"
	ReasonRolloutControlledExternally = "RolloutControlledByExternalController"
)

// Reasons of Overridden.
const (
	ReasonNoOverrideSpecified = "NoOverrideSpecified"
	ReasonOverriddenSucceeded = "OverriddenSucceeded"
	ReasonOverriddenPending   = "OverriddenPending"
	ReasonOverriddenFailed    = "OverriddenFailed"
)

// Reasons of WorkSynchronized, of all members and of one.
const (
	ReasonWorkSynchronized        = "WorkSynchronized"
	ReasonWorkSynchronizedUnknown = "WorkSynchronizedUnknown"
	ReasonWorkNotSynchronizedYet  = "WorkNotSynchronizedYet"

	ReasonAllWorkSynced  = "AllWorkSynced"
	ReasonSyncWorkFailed = "SyncWorkFailed"
	// ReasonTooLarge: what is selected fits into no Work. It is Sluice's own.
	ReasonTooLarge = "TooLarge"
)

// Reasons of Applied, of all members and of one.
const (
	ReasonApplySucceeded = "ApplySucceeded"
	ReasonApplyPending   = "ApplyPending"
	ReasonApplyFailed    = "ApplyFailed"

	ReasonAllWorkApplied  = "AllWorkHaveBeenApplied"
	ReasonWorkNotApplied  = "NotAllWorkHaveBeenApplied"
	ReasonApplyInProgress = "ApplyInProgress"
)

// Reasons of Available, of all members and of one.
const (
	ReasonResourceAvailable        = "ResourceAvailable"
	ReasonResourceAvailableUnknown = "ResourceAvailableUnknown"
	ReasonResourceNotAvailableYet  = "ResourceNotAvailableYet"

	ReasonAllWorkAvailable     = "AllWorkAreAvailable"
	ReasonWorkNotAvailable     = "NotAllWorkAreAvailable"
	ReasonWorkNotTrackable     = "NotAllWorkAreAvailabilityTrackable"
	ReasonSeedWorkNotTrackable = "WorkNotTrackable"
)

// Reasons of DiffReported, of all members and of one.
const (
	ReasonDiffReportingCompleted  = "DiffReportingCompleted"
	ReasonDiffReportingPending    = "DiffReportingPending"
	ReasonDiffReportingIncomplete = "DiffReportingIncompleteOrFailed"

	ReasonAllWorkDiffReported  = "AllWorkHaveDiffReported"
	ReasonWorkNotDiffReported  = "NotAllWorkHaveDiffReported"
	ReasonDiffReportInProgress = "DiffReportInProgress"
)

// Reasons of Kubernetes events about a placement.
const (
	EventRolloutStarted      = "PlacementRolloutStarted"
	EventOverriddenSucceeded = "PlacementOverriddenSucceeded"
	EventWorkSynchronized    = "PlacementWorkSynchronized"
	EventApplied             = "PlacementApplied"
	EventRolloutCompleted    = "PlacementRolloutCompleted"
	EventDiffReported        = "PlacementDiffReported"
)
