// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutStrategy is how a change is carried to the chosen members.
type RolloutStrategy struct {
	// Type is RollingUpdate (some members at a time) or External (somebody else
	// says when; there is no way back from it). Default RollingUpdate.
	// +optional
	// +kubebuilder:default=RollingUpdate
	// +kubebuilder:validation:Enum=RollingUpdate;External
	Type RolloutStrategyType `json:"type,omitempty"`

	// RollingUpdate is the pace of type RollingUpdate.
	// +optional
	// +kubebuilder:default={}
	RollingUpdate *RollingUpdateConfig `json:"rollingUpdate,omitempty"`

	// ApplyStrategy is how objects are written in a member.
	// +optional
	// +kubebuilder:default={}
	ApplyStrategy *ApplyStrategy `json:"applyStrategy,omitempty"`

	// DeleteStrategy is what becomes of the members' objects when the placement
	// is deleted.
	// +optional
	DeleteStrategy *DeleteStrategy `json:"deleteStrategy,omitempty"`
}

// RolloutStrategyType is who sets the pace.
type RolloutStrategyType string

const (
	// RollingUpdateRolloutStrategyType: some members at a time.
	RollingUpdateRolloutStrategyType RolloutStrategyType = "RollingUpdate"
	// ExternalRolloutStrategyType: somebody else says when.
	ExternalRolloutStrategyType RolloutStrategyType = "External"
)

// RollingUpdateConfig is the pace of a rollout. What a member has counts as
// unavailable from the moment that it is removed or changed until it is seen to
// be available again.
type RollingUpdateConfig struct {
	// MaxUnavailable is how many of the wanted members may be unavailable at a
	// time: a number, or a percentage, rounded up. Default 25%.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self >= 0",message="must not be negative"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many members above the wanted number may hold the objects
	// at a time: a number, or a percentage, rounded up. Default 25%.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self >= 0",message="must not be negative"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// UnavailablePeriodSeconds is how long objects whose availability cannot be
	// told count as unavailable after they were applied. Default 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	UnavailablePeriodSeconds *int `json:"unavailablePeriodSeconds,omitempty"`
}

// The defaults of RollingUpdateConfig.
const (
	DefaultMaxUnavailable    = "25%"
	DefaultMaxSurge          = "25%"
	DefaultUnavailablePeriod = time.Minute
)

// DefaultRevisionHistoryLimit is what an absent revisionHistoryLimit means.
const DefaultRevisionHistoryLimit = 10

// HistoryLimit is RevisionHistoryLimit, or its default.
func (s *ClusterResourcePlacementSpec) HistoryLimit() int {
	if s.RevisionHistoryLimit == nil {
		return DefaultRevisionHistoryLimit
	}
	return int(*s.RevisionHistoryLimit)
}

// Pace is the rolling update with each default filled in.
func (s *RolloutStrategy) Pace() (maxUnavailable, maxSurge intstr.IntOrString, unavailable time.Duration) {
	maxUnavailable, maxSurge = intstr.FromString(DefaultMaxUnavailable), intstr.FromString(DefaultMaxSurge)
	unavailable = DefaultUnavailablePeriod
	r := s.RollingUpdate
	if r == nil {
		return maxUnavailable, maxSurge, unavailable
	}
	if r.MaxUnavailable != nil {
		maxUnavailable = *r.MaxUnavailable
	}
	if r.MaxSurge != nil {
		maxSurge = *r.MaxSurge
	}
	if r.UnavailablePeriodSeconds != nil {
		unavailable = time.Duration(*r.UnavailablePeriodSeconds) * time.Second
	}
	return maxUnavailable, maxSurge, unavailable
}

// External reports whether somebody else says when a member gets a change.
func (s *RolloutStrategy) External() bool { return s.Type == ExternalRolloutStrategyType }

// ApplyStrategy is how objects are written in a member.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serverSideApplyConfig) || self.type == 'ServerSideApply'",message="serverSideApplyConfig is only valid for ServerSideApply strategy type",fieldPath=".serverSideApplyConfig"
type ApplyStrategy struct {
	// ComparisonOption is which fields count as different: PartialComparison
	// (those that the manifest sets) or FullComparison (all). Default
	// PartialComparison.
	// +optional
	// +kubebuilder:default=PartialComparison
	// +kubebuilder:validation:Enum=PartialComparison;FullComparison
	ComparisonOption ComparisonOptionType `json:"comparisonOption,omitempty"`

	// WhenToApply is Always (what somebody changed in the member is written
	// over) or IfNotDrifted (it is left and reported). Default Always.
	// +optional
	// +kubebuilder:default=Always
	// +kubebuilder:validation:Enum=Always;IfNotDrifted
	WhenToApply WhenToApplyType `json:"whenToApply,omitempty"`

	// Type is ClientSideApply, ServerSideApply or ReportDiff (nothing is
	// written, differences are reported). Default ClientSideApply. Sluice writes
	// by server-side apply with either of the first two; they differ in what
	// becomes of another writer's fields.
	// +optional
	// +kubebuilder:default=ClientSideApply
	// +kubebuilder:validation:Enum=ClientSideApply;ServerSideApply;ReportDiff
	Type ApplyStrategyType `json:"type,omitempty"`

	// AllowCoOwnership lets an object that others own too be taken. Default
	// false. Another placement is never such an owner.
	// +optional
	AllowCoOwnership bool `json:"allowCoOwnership,omitempty"`

	// ServerSideApplyConfig is for type ServerSideApply only.
	// +optional
	ServerSideApplyConfig *ServerSideApplyConfig `json:"serverSideApplyConfig,omitempty"`

	// WhenToTakeOver is what becomes of an object that the member holds already:
	// it is taken Always, IfNoDiff, or Never. Default Always.
	// +optional
	// +kubebuilder:default=Always
	// +kubebuilder:validation:Enum=Always;IfNoDiff;Never
	WhenToTakeOver WhenToTakeOverType `json:"whenToTakeOver,omitempty"`
}

// ComparisonOptionType is which fields count as different.
type ComparisonOptionType string

// The ways to compare.
const (
	ComparisonOptionTypePartialComparison ComparisonOptionType = "PartialComparison"
	ComparisonOptionTypeFullComparison    ComparisonOptionType = "FullComparison"
)

// WhenToApplyType is what becomes of a member's drifted object.
type WhenToApplyType string

// The choices.
const (
	WhenToApplyTypeAlways       WhenToApplyType = "Always"
	WhenToApplyTypeIfNotDrifted WhenToApplyType = "IfNotDrifted"
)

// ApplyStrategyType is how objects are written.
type ApplyStrategyType string

// The ways to write.
const (
	ApplyStrategyTypeClientSideApply ApplyStrategyType = "ClientSideApply"
	ApplyStrategyTypeServerSideApply ApplyStrategyType = "ServerSideApply"
	ApplyStrategyTypeReportDiff      ApplyStrategyType = "ReportDiff"
)

// WhenToTakeOverType is what becomes of an object that a member holds already.
type WhenToTakeOverType string

// The choices.
const (
	WhenToTakeOverTypeAlways   WhenToTakeOverType = "Always"
	WhenToTakeOverTypeIfNoDiff WhenToTakeOverType = "IfNoDiff"
	WhenToTakeOverTypeNever    WhenToTakeOverType = "Never"
)

// ServerSideApplyConfig is about conflicts of server-side apply.
type ServerSideApplyConfig struct {
	// ForceConflicts takes fields that another manager owns. Default false: the
	// apply fails, with the reason ApplyConflictWithOtherApplier.
	// +optional
	ForceConflicts bool `json:"force"`
}

// DeleteStrategy is what becomes of the members' objects.
type DeleteStrategy struct {
	// PropagationPolicy is Delete (they go with the placement) or Abandon (they
	// stay, and are nobody's). Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	// +kubebuilder:validation:Enum=Abandon;Delete
	PropagationPolicy DeletePropagationPolicy `json:"propagationPolicy,omitempty"`
}

// DeletePropagationPolicy is what a deletion reaches.
type DeletePropagationPolicy string

// The choices.
const (
	DeletePropagationPolicyAbandon DeletePropagationPolicy = "Abandon"
	DeletePropagationPolicyDelete  DeletePropagationPolicy = "Delete"
)
