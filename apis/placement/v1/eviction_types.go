// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterresourceplacementevictions,scope=Cluster,shortName=crpe,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.placementName`,name="Placement",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.clusterName`,name="Cluster",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Valid")].status`,name="Valid",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Executed")].status`,name="Executed",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ClusterResourcePlacementEviction asks, once, that a member is no longer picked by a
// placement that picks its members itself (PickAll, PickN). The scheduler may pick it
// again at once: who wants it to stay away taints the member first. The
// ClusterResourcePlacementDisruptionBudget of the placement's name may forbid it. To ask
// again, delete the eviction and make another.
type ClusterResourcePlacementEviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is which placement and which member.
	// +required
	Spec PlacementEvictionSpec `json:"spec"`

	// Status is what came of it.
	// +optional
	Status PlacementEvictionStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterResourcePlacementEvictionList is a list of ClusterResourcePlacementEviction.
type ClusterResourcePlacementEvictionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the evictions, in no promised order.
	Items []ClusterResourcePlacementEviction `json:"items"`
}

// PlacementEvictionSpec is which member a placement gives up.
type PlacementEvictionSpec struct {
	// PlacementName names the placement. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="placementName is immutable"
	PlacementName string `json:"placementName"`

	// ClusterName names the member. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterName is immutable"
	ClusterName string `json:"clusterName"`
}

// PlacementEvictionStatus is what came of an eviction.
type PlacementEvictionStatus struct {
	// Conditions are Valid and Executed. With Valid False, or with an Executed, the
	// eviction is over, and is not looked at again.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of an eviction, and their reasons.
const (
	ConditionEvictionValid    = "Valid"
	ConditionEvictionExecuted = "Executed"

	ReasonEvictionValid       = "ClusterResourcePlacementEvictionValid"
	ReasonEvictionInvalid     = "ClusterResourcePlacementEvictionInvalid"
	ReasonEvictionExecuted    = "ClusterResourcePlacementEvictionExecuted"
	ReasonEvictionNotExecuted = "ClusterResourcePlacementEvictionNotExecuted"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusterresourceplacementdisruptionbudgets,scope=Cluster,shortName=crpdb,categories={fleet,fleet-placement,sluice}

// ClusterResourcePlacementDisruptionBudget limits the evictions of the placement that has
// its name. Nothing else asks for it: not a change of the policy or of the resources, nor
// a member that fails or leaves.
type ClusterResourcePlacementDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how many members have to keep the placement.
	// +required
	Spec PlacementDisruptionBudgetSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ClusterResourcePlacementDisruptionBudgetList is a list of
// ClusterResourcePlacementDisruptionBudget.
type ClusterResourcePlacementDisruptionBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the budgets, in no promised order.
	Items []ClusterResourcePlacementDisruptionBudget `json:"items"`
}

// PlacementDisruptionBudgetSpec is how many members have to keep the placement. With
// neither field nothing is limited.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxUnavailable) && has(self.minAvailable))",message="maxUnavailable and minAvailable cannot both be set"
type PlacementDisruptionBudgetSpec struct {
	// MaxUnavailable is how many of the wanted members may be without an available
	// placement: a number, or a percentage, rounded up. Not for PickAll, which wants no
	// number.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self >= 0",message="maxUnavailable must not be negative"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MinAvailable is how many members have to be left with an available placement: a
	// number, or for PickN a percentage of the wanted members, rounded up.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self >= 0",message="minAvailable must not be negative"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}
