// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package memberclusterv1

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The released short name, cluster, is what kubectl calls one Cluster, which is
// served beside it, and is not given to this kind.

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=memberclusters,scope=Cluster,shortName=mcl,categories={fleet,fleet-cluster,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Joined")].status`,name="Joined",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
// +kubebuilder:printcolumn:JSONPath=`.status.agentStatus[?(@.type=="MemberAgent")].lastReceivedHeartbeat`,name="Member-Agent-Last-Seen",type=date
// +kubebuilder:printcolumn:JSONPath=`.status.properties.kubernetes-fleet\.io/node-count.value`,name="Node-Count",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.resourceUsage.available.cpu`,name="Available-CPU",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.resourceUsage.available.memory`,name="Available-Memory",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.resourceUsage.allocatable.cpu`,name="Allocatable-CPU",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.resourceUsage.allocatable.memory`,name="Allocatable-Memory",type=string,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) < 64",message="metadata.name max length is 63"

// MemberCluster is a member as placements see it.
type MemberCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is to be known of the member.
	// +required
	Spec MemberClusterSpec `json:"spec"`

	// Status is how the member is.
	// +optional
	Status MemberClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// MemberClusterList is a list of MemberCluster.
type MemberClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the members, in no promised order.
	Items []MemberCluster `json:"items"`
}

// MemberClusterSpec is what is to be known of a member.
type MemberClusterSpec struct {
	// Identity is who an agent in the member would be on the hub. Sluice has no
	// such agent: it gives the identity no rights.
	// +required
	Identity rbacv1.Subject `json:"identity"`

	// HeartbeatPeriodSeconds is how often the member is heard of, while it is:
	// 1 to 600, default 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	HeartbeatPeriodSeconds int32 `json:"heartbeatPeriodSeconds,omitempty"`

	// Taints keep placements without a matching toleration away. At most 100,
	// no two alike.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="taints must be unique"
	Taints []Taint `json:"taints,omitempty"`
}

// Taint keeps placements away that do not tolerate it.
type Taint struct {
	// Key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key"`

	// Value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Value string `json:"value,omitempty"`

	// Effect is NoSchedule.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule
	Effect corev1.TaintEffect `json:"effect"`
}

// MemberClusterStatus is how a member is.
type MemberClusterStatus struct {
	// Conditions: ReadyToJoin, Joined, Healthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Properties are quantities by which members can be chosen.
	// +optional
	Properties map[PropertyName]PropertyValue `json:"properties,omitempty"`

	// ResourceUsage adds up the member's nodes.
	// +optional
	ResourceUsage ResourceUsage `json:"resourceUsage,omitempty"`

	// AgentStatus tells of agents in the member; MemberAgent is what Sluice
	// knows of the member itself.
	// +optional
	AgentStatus []AgentStatus `json:"agentStatus,omitempty"`
}

// PropertyName is the name of a property: segments of at most 63 characters,
// separated by slashes, after an optional DNS subdomain.
type PropertyName string

// PropertyValue is a property as it was seen.
type PropertyValue struct {
	// Value is a quantity.
	// +required
	Value string `json:"value"`

	// ObservationTime is when it was seen to have the value.
	// +required
	ObservationTime metav1.Time `json:"observationTime"`
}

// ResourceUsage adds up the nodes of a member.
type ResourceUsage struct {
	// Capacity is what the nodes have.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// Allocatable is what they offer to pods.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Available is what of that no pod has requested.
	// +optional
	Available corev1.ResourceList `json:"available,omitempty"`

	// ObservationTime is when it was seen.
	// +optional
	ObservationTime metav1.Time `json:"observationTime,omitzero"`
}

// AgentStatus is what is known of one agent.
type AgentStatus struct {
	// Type of the agent.
	// +required
	Type AgentType `json:"type"`

	// Conditions: Joined, Healthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastReceivedHeartbeat is when it was last heard of, for one that is not
	// Healthy; as long as it is, this is written with other news only.
	// +optional
	LastReceivedHeartbeat metav1.Time `json:"lastReceivedHeartbeat,omitzero"`
}

// AgentType is what an agent is for.
type AgentType string

// The types.
const (
	MemberAgent              AgentType = "MemberAgent"
	MultiClusterServiceAgent AgentType = "MultiClusterServiceAgent"
	ServiceExportImportAgent AgentType = "ServiceExportImportAgent"
)

// Agent is the status of one agent; nil where nothing is known of it.
func (s *MemberClusterStatus) Agent(t AgentType) *AgentStatus {
	for i := range s.AgentStatus {
		if s.AgentStatus[i].Type == t {
			return &s.AgentStatus[i]
		}
	}
	return nil
}
