// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=works,scope=Namespaced,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Applied")].status`,name="Applied",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Available")].status`,name="Available",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// Work is what one member gets of a placement. It stands in the namespace that
// MemberNamespace gives for the member.
type Work struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the member shall hold.
	// +optional
	Spec WorkSpec `json:"spec,omitempty"`

	// Status is what the member holds.
	// +optional
	Status WorkStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// WorkList is a list of Work.
type WorkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Works, in no promised order.
	Items []Work `json:"items"`
}

// WorkSpec is what the member shall hold.
type WorkSpec struct {
	// Workload holds the objects.
	// +optional
	Workload WorkloadTemplate `json:"workload,omitempty"`

	// ApplyStrategy is how they are written. Nil means the defaults.
	// +optional
	ApplyStrategy *ApplyStrategy `json:"applyStrategy,omitempty"`

	// DeleteStrategy is what becomes of them when the Work is deleted. Nil means
	// that they are deleted.
	// +optional
	DeleteStrategy *DeleteStrategy `json:"deleteStrategy,omitempty"`

	// SuspendDispatching holds the Work back: it is not applied. Deletion of
	// the Work passes. Nil and false mean the same: not suspended. Released
	// clients do not know it.
	// +optional
	SuspendDispatching *bool `json:"suspendDispatching,omitempty"`
}

// Suspended reports whether the Work is held back.
func (s *WorkSpec) Suspended() bool {
	return s.SuspendDispatching != nil && *s.SuspendDispatching
}

// WorkloadTemplate holds the objects for a member.
type WorkloadTemplate struct {
	// Manifests are the objects, whole, in the order in which they are applied.
	// +optional
	Manifests []Manifest `json:"manifests,omitempty"`
}

// Manifest is one object, as it is to be applied.
//
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:pruning:PreserveUnknownFields
type Manifest struct {
	runtime.RawExtension `json:",inline"`
}

// WorkStatus is what the member holds.
type WorkStatus struct {
	// Conditions: Applied, Available, DiffReported.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ManifestConditions tell of each object.
	// +optional
	ManifestConditions []ManifestCondition `json:"manifestConditions,omitempty"`
}

// ManifestCondition is what came of one object.
type ManifestCondition struct {
	// Identifier says which object.
	// +required
	Identifier WorkResourceIdentifier `json:"identifier"`

	// Conditions: Applied, Available, DiffReported.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// DriftDetails is how somebody changed it in the member. Nil: nobody did.
	// +optional
	DriftDetails *DriftDetails `json:"driftDetails,omitempty"`

	// DiffDetails is how the member holds it otherwise. Nil: it does not.
	// +optional
	DiffDetails *DiffDetails `json:"diffDetails,omitempty"`

	// Applied is what the member held right after our last apply; drift is told
	// by it. Nil as long as nothing was applied. Released clients do not know
	// it.
	// +optional
	Applied *AppliedState `json:"applied,omitempty"`
}

// AppliedState is what the member held right after our last apply.
type AppliedState struct {
	// ManifestHash is the hash of the manifest that was applied.
	// +optional
	ManifestHash string `json:"manifestHash,omitempty"`

	// FieldsHash is the hash of those fields of the member's object that the
	// manifest sets, as the member's API server answered the apply.
	// +optional
	FieldsHash string `json:"fieldsHash,omitempty"`

	// UID of the object in the member.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Changed names the fields that the member has with other values than the
	// manifest says, because its admission changed them as it was applied.
	// +optional
	Changed string `json:"changed,omitempty"`

	// Finished says that the object was seen to have finished, and goes by itself: a
	// Job with a TTL. It does not run again.
	// +optional
	Finished bool `json:"finished,omitempty"`
}

// WorkResourceIdentifier says which object of a Work is meant.
type WorkResourceIdentifier struct {
	// Ordinal is the object's place in the list of manifests, from 0. It names
	// the object even where its manifest cannot be read.
	// +required
	Ordinal int `json:"ordinal"`

	// Group of the object. Empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// Version of the object's API.
	// +optional
	Version string `json:"version,omitempty"`

	// Kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Resource is the plural under which the API serves the kind.
	// +optional
	Resource string `json:"resource,omitempty"`

	// Namespace of the object. Empty means that it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`

	// GenerateName of an object without a name, which cannot be placed.
	// +optional
	GenerateName string `json:"generateName,omitempty"`
}

// DriftDetails is how somebody changed an object in the member.
type DriftDetails struct {
	// ObservationTime is when that was last seen.
	// +required
	ObservationTime metav1.Time `json:"observationTime"`

	// ObservedInMemberClusterGeneration is the generation that the object had.
	// +required
	ObservedInMemberClusterGeneration int64 `json:"observedInMemberClusterGeneration"`

	// FirstDriftedObservedTime is when it was first seen.
	// +required
	FirstDriftedObservedTime metav1.Time `json:"firstDriftedObservedTime"`

	// ObservedDrifts are the fields; of many, the first.
	// +optional
	ObservedDrifts []PatchDetail `json:"observedDrifts,omitempty"`
}

// DiffDetails is how the member holds an object otherwise.
type DiffDetails struct {
	// ObservationTime is when that was last seen.
	// +required
	ObservationTime metav1.Time `json:"observationTime"`

	// ObservedInMemberClusterGeneration is the generation that the object had.
	// Nil: there was none.
	// +optional
	ObservedInMemberClusterGeneration *int64 `json:"observedInMemberClusterGeneration,omitempty"`

	// FirstDiffedObservedTime is when it was first seen.
	// +required
	FirstDiffedObservedTime metav1.Time `json:"firstDiffedObservedTime"`

	// ObservedDiffs are the fields; of many, the first.
	// +optional
	ObservedDiffs []PatchDetail `json:"observedDiffs,omitempty"`
}
