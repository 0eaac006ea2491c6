// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementPolicy chooses members, of which all have joined.
//
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickFixed' || (has(self.clusterNames) && size(self.clusterNames) > 0)",message="clusterNames cannot be empty for PickFixed placement type",fieldPath=".clusterNames"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickFixed' || !has(self.numberOfClusters)",message="numberOfClusters must not be set for PickFixed placement type",fieldPath=".numberOfClusters"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickFixed' || !has(self.affinity)",message="affinity must not be set for PickFixed placement type",fieldPath=".affinity"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickFixed' || !has(self.topologySpreadConstraints) || size(self.topologySpreadConstraints) == 0",message="topologySpreadConstraints must be empty for PickFixed placement type",fieldPath=".topologySpreadConstraints"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickFixed' || !has(self.tolerations) || size(self.tolerations) == 0",message="tolerations must be empty for PickFixed placement type",fieldPath=".tolerations"
// +kubebuilder:validation:XValidation:rule="self.placementType == 'PickFixed' || !has(self.clusterNames) || size(self.clusterNames) == 0",messageExpression="'clusterNames must be empty for ' + self.placementType + ' placement type'",message="clusterNames is for PickFixed placement type only",fieldPath=".clusterNames"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickAll' || !has(self.numberOfClusters)",message="numberOfClusters must not be set for PickAll placement type",fieldPath=".numberOfClusters"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickAll' || !has(self.topologySpreadConstraints) || size(self.topologySpreadConstraints) == 0",message="topologySpreadConstraints must be empty for PickAll placement type",fieldPath=".topologySpreadConstraints"
// +kubebuilder:validation:XValidation:rule="self.placementType != 'PickAll' || !has(self.affinity) || !has(self.affinity.clusterAffinity) || !has(self.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution) || size(self.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution) == 0",message="preferredDuringSchedulingIgnoredDuringExecution must be empty for PickAll placement type",fieldPath=".affinity"
type PlacementPolicy struct {
	// PlacementType is PickAll (every member that Affinity lets pass), PickN
	// (the NumberOfClusters best of them) or PickFixed (those in ClusterNames).
	// It never changes. Default PickAll.
	// +optional
	// +kubebuilder:default=PickAll
	// +kubebuilder:validation:Enum=PickAll;PickN;PickFixed
	PlacementType PlacementType `json:"placementType,omitempty"`

	// ClusterNames are the members, each once. At most 100. Only with PickFixed.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="cluster names must be unique"
	ClusterNames []string `json:"clusterNames,omitempty"`

	// NumberOfClusters is how many members are wanted. Only with PickN.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumberOfClusters *int32 `json:"numberOfClusters,omitempty"`

	// Affinity lets members pass or prefers them. Not with PickFixed.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints must all hold. Only with PickN. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// Tolerations let taints of members pass. They may be added to, and neither
	// changed nor removed. At most 100, no two alike. Not with PickFixed.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="tolerations must be unique"
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// PlacementType is how members are chosen.
type PlacementType string

const (
	// PickAllPlacementType chooses every member that passes.
	PickAllPlacementType PlacementType = "PickAll"
	// PickNPlacementType chooses the best of those that pass.
	PickNPlacementType PlacementType = "PickN"
	// PickFixedPlacementType chooses those that are named.
	PickFixedPlacementType PlacementType = "PickFixed"
)

// Type is PlacementType, or what its absence means; p may be nil.
func (p *PlacementPolicy) Type() PlacementType {
	if p == nil || p.PlacementType == "" {
		return PickAllPlacementType
	}
	return p.PlacementType
}

// Affinity holds the affinities; there is one.
type Affinity struct {
	// ClusterAffinity is about the members' labels and properties.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`
}

// ClusterAffinity lets members pass or prefers them. It counts when members are
// chosen; one that was chosen stays when it no longer matches.
type ClusterAffinity struct {
	// RequiredDuringSchedulingIgnoredDuringExecution lets members pass.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.clusterSelectorTerms.all(t, !has(t.propertySorter))",message="propertySorter is not allowed for RequiredDuringSchedulingIgnoredDuringExecution affinity"
	RequiredDuringSchedulingIgnoredDuringExecution *ClusterSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// PreferredDuringSchedulingIgnoredDuringExecution adds up to a member's
	// score. Only with PickN. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredClusterSelector `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// ClusterSelector lets a member pass that any of the terms lets pass.
type ClusterSelector struct {
	// ClusterSelectorTerms are the terms. At most 10.
	// +required
	// +kubebuilder:validation:MaxItems=10
	ClusterSelectorTerms []ClusterSelectorTerm `json:"clusterSelectorTerms"`
}

// PreferredClusterSelector is a preference and what it counts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.preference.propertySelector)",message="propertySelector is not allowed for PreferredDuringSchedulingIgnoredDuringExecution affinity",fieldPath=".preference"
type PreferredClusterSelector struct {
	// Weight that a matching member gets, of which PropertySorter may take a
	// part. -100 to 100.
	// +required
	// +kubebuilder:validation:Minimum=-100
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// Preference says which members match.
	// +required
	Preference ClusterSelectorTerm `json:"preference"`
}

// ClusterSelectorTerm matches a member by every part that is set.
type ClusterSelectorTerm struct {
	// LabelSelector is matched against the labels of the MemberCluster.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// PropertySelector is matched against the properties of the MemberCluster.
	// Only in required terms.
	// +optional
	PropertySelector *PropertySelector `json:"propertySelector,omitempty"`

	// PropertySorter gives each matching member a part of the weight, by a
	// property. Only in preferred terms.
	// +optional
	PropertySorter *PropertySorter `json:"propertySorter,omitempty"`
}

// PropertySelector matches a member whose properties meet all expressions.
type PropertySelector struct {
	// MatchExpressions are the expressions. At most 100.
	// +required
	// +kubebuilder:validation:MaxItems=100
	MatchExpressions []PropertySelectorRequirement `json:"matchExpressions"`
}

// PropertySelectorRequirement compares a property with a value.
type PropertySelectorRequirement struct {
	// Name of the property.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name"`

	// Operator is Gt, Ge, Eq, Ne, Lt or Le, with the member's value on its left.
	// +required
	// +kubebuilder:validation:Enum=Gt;Ge;Eq;Ne;Lt;Le
	Operator PropertySelectorOperator `json:"operator"`

	// Values is one quantity.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(v, isQuantity(v))",message="value must be a quantity"
	Values []string `json:"values"`
}

// PropertySelectorOperator compares two quantities.
type PropertySelectorOperator string

// The operators.
const (
	PropertySelectorGreaterThan          PropertySelectorOperator = "Gt"
	PropertySelectorGreaterThanOrEqualTo PropertySelectorOperator = "Ge"
	PropertySelectorEqualTo              PropertySelectorOperator = "Eq"
	PropertySelectorNotEqualTo           PropertySelectorOperator = "Ne"
	PropertySelectorLessThan             PropertySelectorOperator = "Lt"
	PropertySelectorLessThanOrEqualTo    PropertySelectorOperator = "Le"
)

// PropertySorter gives members parts of a weight by a property, linearly: the
// first in the order all of it, the last nothing.
type PropertySorter struct {
	// Name of the property.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name"`

	// SortOrder is Descending (the greatest value is first) or Ascending.
	// +required
	// +kubebuilder:validation:Enum=Descending;Ascending
	SortOrder PropertySortOrder `json:"sortOrder"`
}

// PropertySortOrder is the order of values.
type PropertySortOrder string

// The orders.
const (
	Descending PropertySortOrder = "Descending"
	Ascending  PropertySortOrder = "Ascending"
)

// TopologySpreadConstraint spreads the chosen members over the values of one of
// their labels.
type TopologySpreadConstraint struct {
	// MaxSkew is the largest difference between the number of chosen members
	// with one value and with another. At least 1, default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxSkew *int32 `json:"maxSkew,omitempty"`

	// TopologyKey is the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// WhenUnsatisfiable is DoNotSchedule (a member without the label, or above
	// MaxSkew, is not chosen) or ScheduleAnyway (it is chosen last). Default
	// DoNotSchedule.
	// +optional
	// +kubebuilder:default=DoNotSchedule
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// UnsatisfiableConstraintAction is what becomes of a member that breaks a
// constraint.
type UnsatisfiableConstraintAction string

// The actions.
const (
	DoNotSchedule  UnsatisfiableConstraintAction = "DoNotSchedule"
	ScheduleAnyway UnsatisfiableConstraintAction = "ScheduleAnyway"
)

// Toleration lets the taints pass that it matches.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",message="value must be empty when operator is Exists",fieldPath=".value"
// +kubebuilder:validation:XValidation:rule="self.operator == 'Exists' || (has(self.key) && size(self.key) > 0)",message="operator must be Exists when key is empty",fieldPath=".operator"
type Toleration struct {
	// Key of the taint. Empty, with Exists, means any.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`
	Key string `json:"key,omitempty"`

	// Operator is Equal (the taint has this value) or Exists (any value).
	// Default Equal.
	// +optional
	// +kubebuilder:default=Equal
	// +kubebuilder:validation:Enum=Equal;Exists
	Operator corev1.TolerationOperator `json:"operator,omitempty"`

	// Value of the taint. Not with Exists.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Value string `json:"value,omitempty"`

	// Effect of the taint. Empty means any; the only one is NoSchedule.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;""
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}
