// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FailoverBehavior says how an application leaves a cluster that fails it.
type FailoverBehavior struct {
	// Application acts where the application itself is unhealthy. Nil means
	// that it does not. Best used with PropagateDeps, so that dependencies
	// move along.
	// +optional
	Application *ApplicationFailoverBehavior `json:"application,omitempty"`

	// Cluster acts where the cluster is tainted NoExecute. Nil means that the
	// installation's own default decides.
	// +optional
	Cluster *ClusterFailoverBehavior `json:"cluster,omitempty"`
}

// ApplicationFailoverBehavior says when an unhealthy application moves, and
// how it leaves.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gracePeriodSeconds) || !has(self.purgeMode) || self.purgeMode in ['Gracefully', 'Graciously']",message="gracePeriodSeconds only takes effect when purgeMode is Gracefully",fieldPath=".gracePeriodSeconds"
type ApplicationFailoverBehavior struct {
	// DecisionConditions must all hold before the application moves.
	// +required
	DecisionConditions DecisionConditions `json:"decisionConditions"`

	// PurgeMode says how it leaves. Default Gracefully.
	// +optional
	// +kubebuilder:default=Gracefully
	// +kubebuilder:validation:Enum=Directly;Gracefully;Never;Immediately;Graciously
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// GracePeriodSeconds is the longest time, in seconds, that the old copy
	// stays while the new one is not healthy. Only with PurgeMode Gracefully;
	// nil then means 600. Positive.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// StatePreservation hands pieces of the old copy's status to the new copy,
	// as labels. Nil means none.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// ClusterFailoverBehavior says how an application leaves a failed cluster.
type ClusterFailoverBehavior struct {
	// PurgeMode says how it leaves. Default Gracefully.
	// +optional
	// +kubebuilder:default=Gracefully
	// +kubebuilder:validation:Enum=Directly;Gracefully
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// StatePreservation hands pieces of the old copy's status to the new copy,
	// as labels. Nil means none.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// DecisionConditions are what must hold before an application moves.
type DecisionConditions struct {
	// TolerationSeconds is how long, in seconds, the application may be
	// unhealthy. Not negative. Default 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	TolerationSeconds *int32 `json:"tolerationSeconds,omitempty"`
}

// PurgeMode says how an application leaves a cluster.
type PurgeMode string

const (
	// PurgeDirectly removes the old copy first: for applications of which two
	// copies must not run at once.
	PurgeDirectly PurgeMode = "Directly"
	// PurgeGracefully removes the old copy when the new one is healthy, or
	// when the grace period has passed.
	PurgeGracefully PurgeMode = "Gracefully"
	// PurgeNever leaves the old copy for people to remove.
	PurgeNever PurgeMode = "Never"
	// PurgeImmediately is the older spelling of PurgeDirectly.
	PurgeImmediately PurgeMode = "Immediately"
	// PurgeGraciously is the older spelling of PurgeGracefully.
	PurgeGraciously PurgeMode = "Graciously"
)

// StatePreservation says which state moves along.
type StatePreservation struct {
	// Rules name the pieces of state.
	// +required
	Rules []StatePreservationRule `json:"rules"`
}

// StatePreservationRule is one piece of state.
type StatePreservationRule struct {
	// AliasLabelName is the key of the label that carries the piece to the new
	// copy.
	// +required
	AliasLabelName string `json:"aliasLabelName"`

	// JSONPath finds the piece, starting in the object's status: a
	// Deployment's available replicas are {.availableReplicas}.
	// +required
	JSONPath string `json:"jsonPath"`
}
