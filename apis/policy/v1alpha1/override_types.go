// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=overridepolicies,scope=Namespaced,shortName=op,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date

// OverridePolicy changes objects of its own namespace on their way to clusters.
type OverridePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy selects and what it changes.
	// +required
	Spec OverrideSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// OverridePolicyList is a list of OverridePolicy.
type OverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the policies, in no promised order.
	Items []OverridePolicy `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusteroverridepolicies,scope=Cluster,shortName=cop,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date

// ClusterOverridePolicy changes objects of any namespace, or of none, on their
// way to clusters. It is applied before the OverridePolicies.
type ClusterOverridePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy selects and what it changes.
	// +required
	Spec OverrideSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ClusterOverridePolicyList is a list of ClusterOverridePolicy.
type ClusterOverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the policies, in no promised order.
	Items []ClusterOverridePolicy `json:"items"`
}

// OverrideSpec is what an override policy of either scope asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.overrideRules) || size(self.overrideRules) == 0 || !has(self.targetCluster)",message="overrideRules and targetCluster can't co-exist",fieldPath=".targetCluster"
type OverrideSpec struct {
	// ResourceSelectors choose the objects. Empty means every object that is
	// propagated (in a namespaced policy: of its namespace). At most 1000.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	ResourceSelectors []ResourceSelector `json:"resourceSelectors,omitempty"`

	// OverrideRules are applied one after the other. At most 1000.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	OverrideRules []RuleWithCluster `json:"overrideRules,omitempty"`

	// TargetCluster selects the clusters of Overriders. Nil means all.
	//
	// Deprecated: use OverrideRules.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders are the changes for TargetCluster.
	//
	// Deprecated: use OverrideRules.
	// +optional
	Overriders Overriders `json:"overriders,omitempty"`
}

// RuleWithCluster is a set of changes for some clusters.
type RuleWithCluster struct {
	// TargetCluster selects the clusters. Nil means all.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders are the changes.
	// +required
	Overriders Overriders `json:"overriders"`
}
