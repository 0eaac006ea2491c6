// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The released short names rb and crb are those of the bindings of policies,
// which are served beside it, and are not given to this kind.

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterresourcebindings,scope=Cluster,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="WorkSynchronized")].status`,name="WorkSynchronized",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Applied")].status`,name="ResourcesApplied",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Available")].status`,name="ResourceAvailable",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ClusterResourceBinding is what a placement gives to one member: which
// snapshot it has or gets. The label LabelParentCRP names the placement.
type ClusterResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the member has or gets.
	// +required
	Spec ResourceBindingSpec `json:"spec"`

	// Status is what came of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterResourceBindingList is a list of ClusterResourceBinding.
type ClusterResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the bindings, in no promised order.
	Items []ClusterResourceBinding `json:"items"`
}

// ResourceBindingSpec is what a member has or gets.
type ResourceBindingSpec struct {
	// State is Scheduled (chosen, and gets nothing yet), Bound (gets the
	// snapshot) or Unscheduled (no longer chosen, and to be removed).
	// +required
	// +kubebuilder:validation:Enum=Scheduled;Bound;Unscheduled
	State BindingState `json:"state"`

	// ResourceSnapshotName is the first part of the snapshot. Empty: none yet.
	// +required
	ResourceSnapshotName string `json:"resourceSnapshotName"`

	// ResourceOverrideSnapshots are the overrides with a namespace that are
	// applied, in order.
	// +optional
	ResourceOverrideSnapshots []NamespacedName `json:"resourceOverrideSnapshots,omitempty"`

	// ClusterResourceOverrideSnapshots are the overrides without one, which are
	// applied before.
	// +optional
	ClusterResourceOverrideSnapshots []string `json:"clusterResourceOverrideSnapshots,omitempty"`

	// OverriddenFor is what these overrides see of the member: as it was when it got
	// this. Where it says nothing of a label, they see the member as it is.
	// +optional
	OverriddenFor *OverriddenFor `json:"overriddenFor,omitempty"`

	// SchedulingPolicySnapshotName is the policy by which the member was chosen.
	// +required
	SchedulingPolicySnapshotName string `json:"schedulingPolicySnapshotName"`

	// TargetCluster is the member. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetCluster is immutable: delete the binding, and it is made again"
	TargetCluster string `json:"targetCluster"`

	// ClusterDecision is why it was chosen.
	// +required
	ClusterDecision ClusterDecision `json:"clusterDecision"`

	// ApplyStrategy is how objects are written, at any time the placement's.
	// +optional
	ApplyStrategy *ApplyStrategy `json:"applyStrategy,omitempty"`

	// DeleteStrategy is what becomes of the objects, at any time the placement's.
	// +optional
	DeleteStrategy *DeleteStrategy `json:"deleteStrategy,omitempty"`
}

// OverriddenFor is what overrides see of a member.
type OverriddenFor struct {
	// Labels of the member that a rule selects members by, or that a variable names.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Lacks are the keys of those that the member does not have.
	// +optional
	// +listType=set
	Lacks []string `json:"lacks,omitempty"`
}

// BindingState is how far a member's choice has come.
type BindingState string

const (
	// BindingStateScheduled: chosen, and gets nothing yet.
	BindingStateScheduled BindingState = "Scheduled"
	// BindingStateBound: gets the snapshot.
	BindingStateBound BindingState = "Bound"
	// BindingStateUnscheduled: no longer chosen. What it has stays until the
	// rollout removes the binding.
	BindingStateUnscheduled BindingState = "Unscheduled"
)

// ResourceBindingStatus is what came of a binding.
type ResourceBindingStatus struct {
	// FailedPlacements are objects that could not be applied, or are not
	// available. At most 100 are named.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	FailedPlacements []FailedResourcePlacement `json:"failedPlacements,omitempty"`

	// DriftedPlacements are objects that somebody changed in the member. At most
	// 100 are named.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DriftedPlacements []DriftedResourcePlacement `json:"driftedPlacements,omitempty"`

	// DiffedPlacements are objects that the member holds otherwise, and that are
	// left as they are. At most 100 are named.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DiffedPlacements []DiffedResourcePlacement `json:"diffedPlacements,omitempty"`

	// Conditions: RolloutStarted, Overridden, WorkSynchronized, Applied,
	// Available, DiffReported.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
