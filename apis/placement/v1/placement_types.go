// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterresourceplacements,scope=Cluster,shortName=crp,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.metadata.generation`,name="Gen",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.policy.placementType`,name="Type",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementScheduled")].status`,name="Scheduled",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementScheduled")].observedGeneration`,name="Scheduled-Gen",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementWorkSynchronized")].status`,name="Work-Synchronized",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementWorkSynchronized")].observedGeneration`,name="Work-Synchronized-Gen",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementAvailable")].status`,name="Available",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="ClusterResourcePlacementAvailable")].observedGeneration`,name="Available-Gen",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name max length is 63"

// ClusterResourcePlacement selects objects of the hub, and says onto which
// members they are put and at which pace. Who selects a Namespace selects all
// that is in it, now and later.
type ClusterResourcePlacement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is placed, where, and how.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.policy) || has(self.policy)",message="policy cannot be removed once set",fieldPath=".policy"
	// +kubebuilder:validation:XValidation:rule="has(oldSelf.policy) || !has(self.policy) || self.policy.placementType == 'PickAll'",message="placement type is immutable",fieldPath=".policy"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.strategy) || !has(oldSelf.strategy.type) || oldSelf.strategy.type != 'External' || (has(self.strategy) && has(self.strategy.type) && self.strategy.type == 'External')",message="rollout strategy type cannot be changed once set to 'External'",fieldPath=".strategy"
	Spec ClusterResourcePlacementSpec `json:"spec"`

	// Status is what came of it.
	// +optional
	Status ClusterResourcePlacementStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterResourcePlacementList is a list of ClusterResourcePlacement.
type ClusterResourcePlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the placements, in no promised order.
	Items []ClusterResourcePlacement `json:"items"`
}

// ClusterResourcePlacementSpec is what is placed, where, and how.
type ClusterResourcePlacementSpec struct {
	// ResourceSelectors choose the objects; one that any of them chooses is
	// selected. 1 to 100.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ResourceSelectors []ClusterResourceSelector `json:"resourceSelectors"`

	// Policy chooses the members. Without one, each that has joined is chosen.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.placementType == oldSelf.placementType",message="placement type is immutable",fieldPath=".placementType"
	// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickN' || has(self.numberOfClusters)",message="numberOfClusters must be set for PickN placement type",fieldPath=".numberOfClusters"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.tolerations) || oldSelf.tolerations.all(o, has(self.tolerations) && self.tolerations.exists(t, t == o))",message="tolerations have been updated/deleted, only additions to tolerations are allowed",fieldPath=".tolerations"
	Policy *PlacementPolicy `json:"policy,omitempty"`

	// Strategy is how a change is carried to the chosen members.
	// +optional
	// +kubebuilder:default={type: RollingUpdate}
	Strategy RolloutStrategy `json:"strategy,omitempty"`

	// RevisionHistoryLimit is the number of snapshots of either kind that are
	// kept; the newest is always. 1 to 1000, default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// ClusterResourceSelector chooses objects of one kind: all, one by its name, or
// those with labels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.labelSelector) || !has(self.name) || size(self.name) == 0",message="labelSelector and name are mutually exclusive"
type ClusterResourceSelector struct {
	// Group of the kind. Empty is the core group.
	// +required
	Group string `json:"group"`

	// Version in which the objects are read.
	// +required
	Version string `json:"version"`

	// Kind of the objects. It must have no namespace. With Namespace, what is
	// in the chosen namespaces comes along.
	// +required
	Kind string `json:"kind"`

	// Name of the one object. Empty means any. It excludes LabelSelector.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector is matched against the objects' labels. Nil means any.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ClusterResourcePlacementStatus is what came of a placement.
type ClusterResourcePlacementStatus struct {
	// SelectedResources are the objects of the snapshot that the status is
	// about.
	// +optional
	SelectedResources []ResourceIdentifier `json:"selectedResources,omitempty"`

	// ObservedResourceIndex is the index of the snapshot that the conditions
	// are about.
	// +optional
	ObservedResourceIndex string `json:"observedResourceIndex,omitempty"`

	// PlacementStatuses tell of each chosen member; where fewer were found than
	// asked for, those that are missing stand there without a name.
	// +optional
	PlacementStatuses []ResourcePlacementStatus `json:"placementStatuses,omitempty"`

	// Conditions tell of all members together.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceIdentifier says which object is meant.
type ResourceIdentifier struct {
	// Group of the object. Empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// Version of the object's API.
	// +required
	Version string `json:"version"`

	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +required
	Name string `json:"name"`

	// Namespace of the object. Empty means that it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Envelope is the object on the hub that carries this one. Nil means that
	// this one stands on the hub itself.
	// +optional
	Envelope *EnvelopeIdentifier `json:"envelope,omitempty"`
}

// EnvelopeIdentifier says which object carries another.
type EnvelopeIdentifier struct {
	// Name of the envelope.
	// +required
	Name string `json:"name"`

	// Namespace of the envelope. Empty means that it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Type of the envelope. The only one is ConfigMap.
	// +optional
	// +kubebuilder:default=ConfigMap
	// +kubebuilder:validation:Enum=ConfigMap
	Type EnvelopeType `json:"type,omitempty"`
}

// EnvelopeType is what an envelope is.
type EnvelopeType string

// ConfigMapEnvelopeType is a ConfigMap with AnnotationEnvelopeConfigMap: each
// value of its data is a manifest.
const ConfigMapEnvelopeType EnvelopeType = "ConfigMap"

// ResourcePlacementStatus is what came of a placement in one member.
type ResourcePlacementStatus struct {
	// ClusterName is the member. Empty: none could be found.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// ApplicableResourceOverrides are the snapshots of overrides with a
	// namespace that were applied, in order.
	// +optional
	ApplicableResourceOverrides []NamespacedName `json:"applicableResourceOverrides,omitempty"`

	// ApplicableClusterResourceOverrides are the snapshots of overrides without
	// one.
	// +optional
	ApplicableClusterResourceOverrides []string `json:"applicableClusterResourceOverrides,omitempty"`

	// ObservedResourceIndex is the index of the snapshot that this member has,
	// or gets.
	// +optional
	ObservedResourceIndex string `json:"observedResourceIndex,omitempty"`

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

	// Conditions tell of this member.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailedResourcePlacement is an object that failed in a member.
type FailedResourcePlacement struct {
	// Which object.
	ResourceIdentifier `json:",inline"`

	// Condition says what failed: Applied or Available, with False.
	// +required
	Condition metav1.Condition `json:"condition"`
}

// PatchDetail is one field in which a member's object differs. With the values
// it can be read as an operation of JSON patch (RFC 6902).
type PatchDetail struct {
	// Path of the field as a JSON pointer (RFC 6901).
	// +required
	Path string `json:"path"`

	// ValueInMember is what the member has. Empty: no such field.
	// +optional
	ValueInMember string `json:"valueInMember,omitempty"`

	// ValueInHub is what was to be there. Empty: no such field.
	// +optional
	ValueInHub string `json:"valueInHub,omitempty"`
}

// DriftedResourcePlacement is an object that somebody changed in a member.
type DriftedResourcePlacement struct {
	// Which object.
	ResourceIdentifier `json:",inline"`

	// ObservationTime is when that was last seen.
	// +required
	ObservationTime metav1.Time `json:"observationTime"`

	// TargetClusterObservedGeneration is the generation that the object had in
	// the member.
	// +required
	TargetClusterObservedGeneration int64 `json:"targetClusterObservedGeneration"`

	// FirstDriftedObservedTime is when it was first seen.
	// +required
	FirstDriftedObservedTime metav1.Time `json:"firstDriftedObservedTime"`

	// ObservedDrifts are the fields; of many, the first.
	// +optional
	ObservedDrifts []PatchDetail `json:"observedDrifts,omitempty"`
}

// DiffedResourcePlacement is an object that a member holds otherwise.
type DiffedResourcePlacement struct {
	// Which object.
	ResourceIdentifier `json:",inline"`

	// ObservationTime is when that was last seen.
	// +required
	ObservationTime metav1.Time `json:"observationTime"`

	// TargetClusterObservedGeneration is the generation that the object had in
	// the member. Nil: there was none.
	// +optional
	TargetClusterObservedGeneration *int64 `json:"targetClusterObservedGeneration,omitempty"`

	// FirstDiffedObservedTime is when it was first seen.
	// +required
	FirstDiffedObservedTime metav1.Time `json:"firstDiffedObservedTime"`

	// ObservedDiffs are the fields; of many, the first.
	// +optional
	ObservedDiffs []PatchDetail `json:"observedDiffs,omitempty"`
}

// NamespacedName names an object in a namespace.
type NamespacedName struct {
	// Name of the object.
	// +required
	Name string `json:"name"`

	// Namespace of the object.
	// +required
	Namespace string `json:"namespace"`
}
