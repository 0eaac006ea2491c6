// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterschedulingpolicysnapshots,scope=Cluster,shortName=csps,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.metadata.generation`,name="Gen",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ClusterSchedulingPolicySnapshot is the policy of a placement as it was, and
// the members that were chosen by it. Its name is PLACEMENT-INDEX.
type ClusterSchedulingPolicySnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the policy. It never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable"
	Spec SchedulingPolicySnapshotSpec `json:"spec"`

	// Status is what was chosen.
	// +optional
	Status SchedulingPolicySnapshotStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterSchedulingPolicySnapshotList is a list of
// ClusterSchedulingPolicySnapshot.
type ClusterSchedulingPolicySnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the snapshots, in no promised order.
	Items []ClusterSchedulingPolicySnapshot `json:"items"`
}

// SchedulingPolicySnapshotSpec is a policy as it was.
type SchedulingPolicySnapshotSpec struct {
	// Policy without its number of clusters, which AnnotationNumberOfClusters
	// holds. Nil means that the placement had none.
	// +optional
	Policy *PlacementPolicy `json:"policy,omitempty"`

	// PolicyHash is the SHA-256 hash of Policy.
	// +required
	// +kubebuilder:validation:MaxLength=256
	PolicyHash []byte `json:"policyHash"`
}

// SchedulingPolicySnapshotStatus is what was chosen.
type SchedulingPolicySnapshotStatus struct {
	// ObservedCRPGeneration is the placement's generation that was scheduled.
	// +required
	ObservedCRPGeneration int64 `json:"observedCRPGeneration"`

	// Conditions: Scheduled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ClusterDecisions are the members that were looked at: all that were
	// chosen, and some of the others. At most 1000.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	ClusterDecisions []ClusterDecision `json:"targetClusters,omitempty"`
}

// ClusterDecision is what was decided of one member, and why.
type ClusterDecision struct {
	// ClusterName is the member.
	// +required
	ClusterName string `json:"clusterName"`

	// Selected says that it was chosen.
	// +required
	Selected bool `json:"selected"`

	// ClusterScore is what it was compared by. Nil: it did not come to that.
	// +optional
	ClusterScore *ClusterScore `json:"clusterScore,omitempty"`

	// Reason is why.
	// +required
	Reason string `json:"reason"`
}

// ClusterScore is what a member was compared by: first the spread, then the
// affinity.
type ClusterScore struct {
	// AffinityScore is the sum of the preferred terms' weights.
	// +optional
	AffinityScore *int32 `json:"affinityScore,omitempty"`

	// TopologySpreadScore is how much the member evens out the spread.
	// +optional
	TopologySpreadScore *int32 `json:"topologySpreadScore,omitempty"`

	// PriorityScore is TopologySpreadScore under the name that v1 was released
	// with.
	// +optional
	PriorityScore *int32 `json:"priorityScore,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterresourcesnapshots,scope=Cluster,shortName=crs,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.metadata.generation`,name="Gen",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ClusterResourceSnapshot is what a placement selected, or a part of it, as it
// was. The name of the first part is PLACEMENT-INDEX-snapshot, that of the
// others PLACEMENT-INDEX-SUBINDEX.
type ClusterResourceSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what was selected. It never changes, which the webhook sees to.
	// +required
	Spec ResourceSnapshotSpec `json:"spec"`

	// Status is empty, and may be used.
	// +optional
	Status ResourceSnapshotStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterResourceSnapshotList is a list of ClusterResourceSnapshot.
type ClusterResourceSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the snapshots, in no promised order.
	Items []ClusterResourceSnapshot `json:"items"`
}

// ResourceSnapshotSpec is what was selected.
type ResourceSnapshotSpec struct {
	// SelectedResources are the objects, in the order in which they are applied.
	// +required
	SelectedResources []ResourceContent `json:"selectedResources"`
}

// ResourceContent is an object as it is to be applied.
//
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:pruning:PreserveUnknownFields
type ResourceContent struct {
	runtime.RawExtension `json:",inline"`
}

// ResourceSnapshotStatus is empty, and may be used.
type ResourceSnapshotStatus struct {
	// Conditions of anybody.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
