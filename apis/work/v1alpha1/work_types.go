// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=works,scope=Namespaced,shortName=wk,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.workload.manifests[*].kind`,name="WORKLOAD-KIND",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Applied")].status`,name="APPLIED",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.suspendDispatching`,name="SUSPENDED",type=boolean,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Available")].status`,name="AVAILABLE",type=string,priority=1

// Work is what one member cluster gets.
type Work struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the member shall hold.
	// +required
	Spec WorkSpec `json:"spec"`

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

	// SuspendDispatching holds the Work back: it is not applied. Deletion of
	// the Work passes. Nil and false mean the same: not suspended.
	// +optional
	SuspendDispatching *bool `json:"suspendDispatching,omitempty"`

	// PreserveResourcesOnDeletion leaves the objects in the member when the
	// Work is deleted. Nil and false mean the same: they are deleted.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`
}

// Suspended reports whether the Work is held back.
func (s *WorkSpec) Suspended() bool {
	return s.SuspendDispatching != nil && *s.SuspendDispatching
}

// WorkloadTemplate holds the objects for a member.
type WorkloadTemplate struct {
	// Manifests are the objects, whole.
	// +optional
	Manifests []Manifest `json:"manifests,omitempty"`
}

// Manifest is one object, as it is to be applied. It needs apiVersion, kind
// and a name.
//
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:pruning:PreserveUnknownFields
type Manifest struct {
	runtime.RawExtension `json:",inline"`
}

// WorkStatus is what the member holds.
type WorkStatus struct {
	// Conditions tell what became of the Work: Applied, Progressing,
	// Available, Degraded, Dispatching.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ManifestStatuses are the statuses that the objects have in the member.
	// +optional
	ManifestStatuses []ManifestStatus `json:"manifestStatuses,omitempty"`

	// Applied is what the member held right after our last apply; drift is
	// told by it. Nil as long as nothing was applied. Released clients do not
	// know it.
	// +optional
	Applied *AppliedState `json:"applied,omitempty"`
}

// AppliedState is what the member held right after our last apply.
type AppliedState struct {
	// ManifestHash is the hash of the manifest that was applied. Where the
	// Work's manifest has another hash, something is still to be applied.
	// +optional
	ManifestHash string `json:"manifestHash,omitempty"`

	// FieldsHash is the hash of those fields of the member's object that the
	// manifest sets, as the member's API server answered the apply. Where the
	// live object has another hash, it has drifted.
	// +optional
	FieldsHash string `json:"fieldsHash,omitempty"`

	// UID of the object in the member. Another uid means that it was deleted
	// and made again.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Changed names the fields that the member has with other values than the
	// manifest says, because its admission changed them as it was applied.
	// +optional
	Changed string `json:"changed,omitempty"`
}

// ManifestStatus is the status that one object has in the member.
type ManifestStatus struct {
	// Identifier says which object.
	// +required
	Identifier ResourceIdentifier `json:"identifier"`

	// Status of the object, as its kind defines it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Health is Healthy, Unhealthy or Unknown, as the kind's rule says.
	// +optional
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health ResourceHealth `json:"health,omitempty"`

	// Message says which of the rules of a ResourceInterpreter does not tell status or
	// health, and why. Released clients do not know it.
	// +optional
	Message string `json:"message,omitempty"`

	// Applied is what the member held right after our last apply of this object,
	// in a Work of several; of one alone, the Work's own status says so. Released
	// clients do not know it.
	// +optional
	Applied *AppliedState `json:"applied,omitempty"`
}

// ResourceIdentifier says which object in a Work is meant.
type ResourceIdentifier struct {
	// Ordinal is the object's place in the list of manifests, from 0. It names
	// the object even where its manifest cannot be read.
	// +required
	Ordinal int `json:"ordinal"`

	// Group of the object. Empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// Version of the object's API.
	// +required
	Version string `json:"version"`

	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Resource is the plural under which the API serves the kind.
	// +required
	Resource string `json:"resource"`

	// Namespace of the object. Empty means that it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +required
	Name string `json:"name"`
}

// ResourceHealth tells whether an object does its job.
type ResourceHealth string

// The values of ResourceHealth.
const (
	ResourceHealthy   ResourceHealth = "Healthy"
	ResourceUnhealthy ResourceHealth = "Unhealthy"
	ResourceUnknown   ResourceHealth = "Unknown"
)
