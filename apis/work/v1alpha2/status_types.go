// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ResourceBindingStatus is what became of a binding.
type ResourceBindingStatus struct {
	// SchedulerObservedGeneration is the generation of the binding that was
	// scheduled last. Where it is lower than the binding's, the clusters are
	// not yet confirmed.
	// +optional
	SchedulerObservedGeneration int64 `json:"schedulerObservedGeneration,omitempty"`

	// SchedulerObservedAffinityName is the term of clusterAffinities that the
	// clusters were chosen by. The wire name is the released one.
	// +optional
	SchedulerObservedAffinityName string `json:"schedulerObservingAffinityName,omitempty"`

	// LastScheduledTime is when the last scheduling succeeded.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`

	// Conditions tell how far the template got: Scheduled, FullyApplied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// AggregatedStatus is the object's state in each cluster.
	// +optional
	AggregatedStatus []AggregatedStatusItem `json:"aggregatedStatus,omitempty"`

	// FinishedIn are the members in which an object that runs once, and goes when it has
	// finished (a Job with a TTL), has finished. It does not run there again, also if the
	// member leaves meanwhile, and its Work with it.
	// +optional
	// +listType=map
	// +listMapKey=clusterID
	FinishedIn []Finish `json:"finishedIn,omitempty"`
}

// Finish is how an object that runs once ended in one member.
type Finish struct {
	// ClusterID is the member, as spec.id of its Cluster names it.
	// +required
	ClusterID string `json:"clusterID"`

	// TemplateUID is the template that the object was made from.
	// +required
	TemplateUID types.UID `json:"templateUID"`

	// Status of the object at last, as its kind defines it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`
}

// AggregatedStatusItem is the object's state in one cluster.
type AggregatedStatusItem struct {
	// ClusterName is the cluster.
	// +required
	ClusterName string `json:"clusterName"`

	// Status of the object, as its kind defines it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Applied says whether the cluster holds the object as it shall be.
	// +optional
	Applied bool `json:"applied,omitempty"`

	// AppliedMessage says why it does not.
	// +optional
	AppliedMessage string `json:"appliedMessage,omitempty"`

	// Health is Healthy, Unhealthy or Unknown, as the kind's rule says.
	// +optional
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health ResourceHealth `json:"health,omitempty"`
}

// ResourceHealth tells whether an object does its job.
type ResourceHealth string

// The values of ResourceHealth.
const (
	ResourceHealthy   ResourceHealth = "Healthy"
	ResourceUnhealthy ResourceHealth = "Unhealthy"
	ResourceUnknown   ResourceHealth = "Unknown"
)
