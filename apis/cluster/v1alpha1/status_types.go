// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus is how a member is.
type ClusterStatus struct {
	// KubernetesVersion of the member's API server.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIEnablements are the kinds that the member serves.
	// +optional
	APIEnablements []APIEnablement `json:"apiEnablements,omitempty"`

	// Conditions tell how the member is: Ready, CompleteAPIEnablements.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NodeSummary counts the member's nodes.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`

	// ResourceSummary adds up the member's resources.
	// +optional
	ResourceSummary *ResourceSummary `json:"resourceSummary,omitempty"`

	// RemedyActions are what other systems shall do for the member, such as
	// TrafficControl.
	// +optional
	RemedyActions []string `json:"remedyActions,omitempty"`
}

// Serves reports whether the member serves a kind, given as apiVersion and
// kind, and whether that is certain: an incomplete list cannot deny a kind.
func (s *ClusterStatus) Serves(apiVersion, kind string) (served, certain bool) {
	for i := range s.APIEnablements {
		if s.APIEnablements[i].GroupVersion != apiVersion {
			continue
		}
		for _, r := range s.APIEnablements[i].Resources {
			if r.Kind == kind {
				return true, true
			}
		}
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type == ConditionCompleteAPIEnablements {
			return false, s.Conditions[i].Status == metav1.ConditionTrue
		}
	}
	return false, false
}

// APIEnablement is what the member serves of one group and version.
type APIEnablement struct {
	// GroupVersion is the group and version, as in apiVersion.
	// +required
	GroupVersion string `json:"groupVersion"`

	// Resources that it serves.
	// +optional
	Resources []APIResource `json:"resources,omitempty"`
}

// APIResource is a kind that the member serves.
type APIResource struct {
	// Name is the plural under which the API serves it.
	// +required
	Name string `json:"name"`

	// Kind of its objects.
	// +required
	Kind string `json:"kind"`
}

// NodeSummary counts nodes.
type NodeSummary struct {
	// TotalNum is the number of nodes.
	// +optional
	TotalNum int32 `json:"totalNum,omitempty"`

	// ReadyNum is the number of nodes that are ready.
	// +optional
	ReadyNum int32 `json:"readyNum,omitempty"`
}

// ResourceSummary adds up resources over all nodes.
type ResourceSummary struct {
	// Allocatable is what the nodes offer to pods.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Allocating is what pods that wait for a node request.
	// +optional
	Allocating corev1.ResourceList `json:"allocating,omitempty"`

	// Allocated is what pods on nodes request.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`

	// AllocatableModelings counts nodes by class.
	// +optional
	AllocatableModelings []AllocatableModeling `json:"allocatableModelings,omitempty"`
}
