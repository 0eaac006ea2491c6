// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Placement chooses clusters, and how replicas are given to them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clusterAffinity) || !has(self.clusterAffinities) || size(self.clusterAffinities) == 0",message="clusterAffinities cannot co-exist with clusterAffinity",fieldPath=".clusterAffinities"
type Placement struct {
	// ClusterAffinity is the one filter that clusters must pass. It excludes
	// ClusterAffinities. Without either, any cluster is a candidate.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`

	// ClusterAffinities are filters in order of preference: the first that
	// yields a valid placement is used, the others are not. Names are unique.
	// At most 100.
	// +optional
	// +listType=map
	// +listMapKey=affinityName
	// +kubebuilder:validation:MaxItems=100
	ClusterAffinities []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`

	// ClusterTolerations let the template onto clusters with matching taints.
	// At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.operator) || size(t.operator) == 0 || t.operator in ['Equal', 'Exists'])",message="operator must be Equal or Exists"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.effect) || size(t.effect) == 0 || t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(t, (has(t.key) && size(t.key) > 0) || (has(t.operator) && t.operator == 'Exists'))",message="operator must be Exists when key is empty"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value) || size(t.value) == 0)",message="value must be empty when operator is Exists"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.tolerationSeconds) || (has(t.effect) && t.effect == 'NoExecute'))",message="effect must be NoExecute when tolerationSeconds is set"
	ClusterTolerations []corev1.Toleration `json:"clusterTolerations,omitempty"`

	// SpreadConstraints bound the number of clusters, and of groups of
	// clusters, that are chosen. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="!self.exists(c, has(c.spreadByField)) || self.exists(c, has(c.spreadByField) ? c.spreadByField == 'cluster' : !has(c.spreadByLabel) || size(c.spreadByLabel) == 0)",message="the cluster spread constraint must be enabled in one of the constraints in case of SpreadByField is enabled"
	SpreadConstraints []SpreadConstraint `json:"spreadConstraints,omitempty"`

	// ReplicaScheduling says how the replicas of a template that has them are
	// given to the clusters. Nil means that each cluster gets all of them.
	// +optional
	ReplicaScheduling *ReplicaSchedulingStrategy `json:"replicaScheduling,omitempty"`
}

// ClusterAffinity is a filter for clusters. A cluster passes if it satisfies
// every part that is set.
type ClusterAffinity struct {
	// LabelSelector is matched against the labels of the Cluster object.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// FieldSelector is matched against provider, region and zones of the
	// Cluster object.
	// +optional
	FieldSelector *FieldSelector `json:"fieldSelector,omitempty"`

	// ClusterNames are the only clusters that pass. Empty means any.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`

	// ExcludeClusters never pass.
	// +optional
	ExcludeClusters []string `json:"exclude,omitempty"`
}

// ClusterAffinityTerm is a ClusterAffinity with a name.
type ClusterAffinityTerm struct {
	// AffinityName is what the binding's status calls the term. 1 to 32
	// characters, unique in the placement.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	AffinityName string `json:"affinityName"`

	ClusterAffinity `json:",inline"`
}

// FieldSelector is a filter by fields of the Cluster object.
type FieldSelector struct {
	// MatchExpressions must all hold. The key is provider, region or zone, the
	// operator In or NotIn. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.key in ['provider', 'region', 'zone'])",message="key must be provider, region or zone"
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.operator in ['In', 'NotIn'])",message="operator must be In or NotIn"
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// SpreadFieldValue is a property by which clusters form groups.
type SpreadFieldValue string

// The properties by which clusters form groups.
const (
	SpreadByFieldCluster  SpreadFieldValue = "cluster"
	SpreadByFieldRegion   SpreadFieldValue = "region"
	SpreadByFieldZone     SpreadFieldValue = "zone"
	SpreadByFieldProvider SpreadFieldValue = "provider"
)

// SpreadConstraint bounds the number of groups that are chosen.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spreadByField) || !has(self.spreadByLabel) || size(self.spreadByLabel) == 0",message="spreadByLabel should not co-exist with spreadByField",fieldPath=".spreadByLabel"
// +kubebuilder:validation:XValidation:rule="!has(self.maxGroups) || self.maxGroups == 0 || !has(self.minGroups) || self.minGroups <= self.maxGroups",message="maxGroups lower than minGroups is not allowed",fieldPath=".maxGroups"
type SpreadConstraint struct {
	// SpreadByField forms a group for each value of a property. It excludes
	// SpreadByLabel. Without either, each cluster is its own group.
	// +optional
	// +kubebuilder:validation:Enum=cluster;region;zone;provider
	SpreadByField SpreadFieldValue `json:"spreadByField,omitempty"`

	// SpreadByLabel forms a group for each value of this label of the Cluster
	// object.
	// +optional
	SpreadByLabel string `json:"spreadByLabel,omitempty"`

	// MaxGroups is the largest number of groups. 0 means no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	MaxGroups int `json:"maxGroups,omitempty"`

	// MinGroups is the smallest number of groups. 0 means 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	MinGroups int `json:"minGroups,omitempty"`
}

// ReplicaSchedulingStrategy says how replicas are given to clusters.
type ReplicaSchedulingStrategy struct {
	// ReplicaSchedulingType is Duplicated (each cluster gets all replicas) or
	// Divided (together they get all replicas). Default Divided.
	// +optional
	// +kubebuilder:default=Divided
	// +kubebuilder:validation:Enum=Duplicated;Divided
	ReplicaSchedulingType ReplicaSchedulingType `json:"replicaSchedulingType,omitempty"`

	// ReplicaDivisionPreference says how replicas are divided: Aggregated
	// (onto as few clusters as have room) or Weighted. Only with Divided.
	// +optional
	// +kubebuilder:validation:Enum=Aggregated;Weighted
	ReplicaDivisionPreference ReplicaDivisionPreference `json:"replicaDivisionPreference,omitempty"`

	// WeightPreference holds the weights. Nil means equal weights. Only with
	// Weighted.
	// +optional
	WeightPreference *ClusterPreferences `json:"weightPreference,omitempty"`
}

// ReplicaSchedulingType is how replicas are given to clusters.
type ReplicaSchedulingType string

const (
	// ReplicaSchedulingTypeDuplicated gives each cluster all replicas.
	ReplicaSchedulingTypeDuplicated ReplicaSchedulingType = "Duplicated"
	// ReplicaSchedulingTypeDivided shares the replicas among the clusters.
	ReplicaSchedulingTypeDivided ReplicaSchedulingType = "Divided"
)

// ReplicaDivisionPreference is how replicas are shared.
type ReplicaDivisionPreference string

const (
	// ReplicaDivisionPreferenceAggregated fills as few clusters as possible.
	ReplicaDivisionPreferenceAggregated ReplicaDivisionPreference = "Aggregated"
	// ReplicaDivisionPreferenceWeighted shares by weight.
	ReplicaDivisionPreferenceWeighted ReplicaDivisionPreference = "Weighted"
)

// ClusterPreferences are the weights of clusters.
type ClusterPreferences struct {
	// StaticWeightList gives fixed weights to clusters. A cluster that no
	// entry selects gets no replicas. At most 1000.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	StaticWeightList []StaticClusterWeight `json:"staticWeightList,omitempty"`

	// DynamicWeight computes the weights at each scheduling and makes
	// StaticWeightList ignored. The only value is AvailableReplicas: a
	// cluster's weight is the number of replicas that fit into it.
	// +optional
	// +kubebuilder:validation:Enum=AvailableReplicas
	DynamicWeight DynamicWeightFactor `json:"dynamicWeight,omitempty"`
}

// StaticClusterWeight is the weight of some clusters.
type StaticClusterWeight struct {
	// TargetCluster selects the clusters.
	// +required
	TargetCluster ClusterAffinity `json:"targetCluster"`

	// Weight of each of them, relative to the others'. At least 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	Weight int64 `json:"weight"`
}

// DynamicWeightFactor is what a computed weight follows.
type DynamicWeightFactor string

// DynamicWeightByAvailableReplicas weighs a cluster by the replicas that fit
// into it: with room for 6, 12 and 18, twelve replicas are shared 2, 4, 6.
const DynamicWeightByAvailableReplicas DynamicWeightFactor = "AvailableReplicas"
