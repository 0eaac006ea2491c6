// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// GracefulEvictionTask is a cluster that is being left.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gracePeriodSeconds) || !has(self.suppressDeletion)",message="gracePeriodSeconds cannot co-exist with suppressDeletion",fieldPath=".suppressDeletion"
type GracefulEvictionTask struct {
	// FromCluster is the cluster.
	// +required
	FromCluster string `json:"fromCluster"`

	// PurgeMode says how the application leaves. Empty means Gracefully.
	// +optional
	// +kubebuilder:validation:Enum=Immediately;Directly;Graciously;Gracefully;Never
	PurgeMode policyv1alpha1.PurgeMode `json:"purgeMode,omitempty"`

	// Replicas that leave. Nil where the template has none.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Reason for leaving, one CamelCase word of at most 32 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
	Reason string `json:"reason"`

	// Message for people. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// Producer is who decided it.
	// +required
	Producer string `json:"producer"`

	// GracePeriodSeconds is the longest time, in seconds, that the object
	// stays while its successor is not healthy. Positive. It excludes
	// SuppressDeletion.
	// +optional
	// +kubebuilder:validation:Minimum=1
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// SuppressDeletion keeps the object until somebody removes the task. It
	// excludes GracePeriodSeconds.
	// +optional
	SuppressDeletion *bool `json:"suppressDeletion,omitempty"`

	// PreservedLabelState is the state that is handed to the successor, as
	// labels.
	// +optional
	PreservedLabelState map[string]string `json:"preservedLabelState,omitempty"`

	// CreationTimestamp is when the task was made. Set by the system.
	// +optional
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`

	// ClustersBeforeFailover are those that ran the application before.
	// +optional
	ClustersBeforeFailover []string `json:"clustersBeforeFailover,omitempty"`
}
