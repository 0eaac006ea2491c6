// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
)

// ReplicaRequirements is what one replica needs.
type ReplicaRequirements struct {
	// NodeClaim is what it needs of a node.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`

	// ResourceRequest is what it requests: quantities by resource name.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`

	// Namespace of the replica, for quotas.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// PriorityClassName of the replica, for quotas.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// NodeClaim is what a replica needs of a node.
type NodeClaim struct {
	// HardNodeAffinity is the required node affinity of the pod.
	// +optional
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`

	// NodeSelector of the pod: labels that the node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pod.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Component is one part of a template that is made of several pod templates.
type Component struct {
	// Name of the part, unique in the template. 1 to 32 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// Replicas of the part in one copy of the template.
	// +required
	Replicas int32 `json:"replicas"`

	// ReplicaRequirements is what one replica of the part needs.
	// +optional
	ReplicaRequirements *ComponentReplicaRequirements `json:"replicaRequirements,omitempty"`
}

// ComponentReplicaRequirements is what one replica of a part needs.
type ComponentReplicaRequirements struct {
	// NodeClaim is what it needs of a node.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`

	// ResourceRequest is what it requests: quantities by resource name.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`

	// PriorityClassName of the replica, for quotas.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}
