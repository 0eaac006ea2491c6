// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=resourcebindings,scope=Namespaced,shortName=rb,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`,name="SCHEDULED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="FullyApplied")].status`,name="FULLYAPPLIED",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.resource.kind`,name="KIND",type=string,priority=1

// ResourceBinding binds a template with a namespace to clusters.
type ResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the policy in force, and the clusters.
	// +required
	Spec ResourceBindingSpec `json:"spec"`

	// Status is what became of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ResourceBindingList is a list of ResourceBinding.
type ResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the bindings, in no promised order.
	Items []ResourceBinding `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterresourcebindings,scope=Cluster,shortName=crb,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`,name="SCHEDULED",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="FullyApplied")].status`,name="FULLYAPPLIED",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.resource.kind`,name="KIND",type=string,priority=1

// ClusterResourceBinding binds a template without a namespace to clusters.
type ClusterResourceBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the policy in force, and the clusters.
	// +required
	Spec ResourceBindingSpec `json:"spec"`

	// Status is what became of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterResourceBindingList is a list of ClusterResourceBinding.
type ClusterResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the bindings, in no promised order.
	Items []ClusterResourceBinding `json:"items"`
}

// ResourceBindingSpec is the policy in force for one template, and the
// clusters.
type ResourceBindingSpec struct {
	// Resource is the template.
	// +required
	Resource ObjectReference `json:"resource"`

	// PropagateDeps makes what the template refers to follow it. From the
	// policy. Default false.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// ReplicaRequirements is what one replica needs. Nil where the template
	// has no replicas, or where it is not known.
	// +optional
	ReplicaRequirements *ReplicaRequirements `json:"replicaRequirements,omitempty"`

	// Replicas of the template. 0 where it has none.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Components are the parts of a template that is made of several pod
	// templates. Where it is set, Replicas and ReplicaRequirements are not.
	// +optional
	Components []Component `json:"components,omitempty"`

	// Clusters are those chosen, with their replicas.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`

	// Placement chooses the clusters. From the policy.
	// +optional
	Placement *policyv1alpha1.Placement `json:"placement,omitempty"`

	// GracefulEvictionTasks are clusters that are being left: no longer in
	// Clusters, while the object stays until the task is done.
	// +optional
	GracefulEvictionTasks []GracefulEvictionTask `json:"gracefulEvictionTasks,omitempty"`

	// RequiredBy are the bindings whose templates refer to this one, with
	// their clusters. The object goes there too.
	// +optional
	RequiredBy []BindingSnapshot `json:"requiredBy,omitempty"`

	// SchedulerName is the scheduler that picks the clusters. From the policy.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// Failover says how the application leaves a cluster that fails it. From
	// the policy.
	// +optional
	Failover *policyv1alpha1.FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution says what happens to a member's object that is not
	// ours. From the policy. Default Abort.
	// +optional
	// +kubebuilder:default=Abort
	// +kubebuilder:validation:Enum=Abort;Overwrite
	ConflictResolution policyv1alpha1.ConflictResolution `json:"conflictResolution,omitempty"`

	// RescheduleTriggeredAt asks for a fresh scheduling that looks away from
	// the clusters chosen before. It is done if the time is later than
	// status.lastScheduledTime.
	// +optional
	RescheduleTriggeredAt *metav1.Time `json:"rescheduleTriggeredAt,omitempty"`

	// Suspension holds back writes to members, or the scheduling. Nil means
	// none.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion leaves the objects in the members when the
	// binding is deleted. From the policy. Default false.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// SchedulePriority orders the waiting bindings of the scheduler. Nil means
	// priority 0.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`
}

// ObjectReference names a template on the hub.
type ObjectReference struct {
	// APIVersion of the template.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the template.
	// +required
	Kind string `json:"kind"`

	// Namespace of the template. Empty means that it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the template.
	// +required
	Name string `json:"name"`

	// UID of the template. Another uid means another template of that name.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// ResourceVersion of the template whose content is in force.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// TargetCluster is a cluster that was chosen.
type TargetCluster struct {
	// Name of the cluster.
	// +required
	Name string `json:"name"`

	// Replicas that it gets. 0 where the template has none.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// BindingSnapshot is a binding as another binding sees it.
type BindingSnapshot struct {
	// Namespace of the binding. Empty means a binding without one.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the binding.
	// +required
	Name string `json:"name"`

	// Clusters chosen for it.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`
}

// SchedulePriority is the resolved priority of a binding.
type SchedulePriority struct {
	// Priority of the binding in the scheduler's queue: higher goes first.
	// Default 0.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
}
