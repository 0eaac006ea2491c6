// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=propagationpolicies,scope=Namespaced,shortName=pp,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.preemption`,name="PREEMPTION",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.activationPreference`,name="ACTIVATION",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.templates.claimed`,name="CLAIMED",type=integer,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.templates.pending`,name="PENDING",type=integer,priority=1

// PropagationPolicy says to which clusters objects of its own namespace go.
type PropagationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy selects and where that goes.
	// +required
	Spec PropagationSpec `json:"spec"`

	// Status is what the policy has brought about. Released clients do not
	// know it; it is written by Sluice alone.
	// +optional
	Status PropagationStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// PropagationPolicyList is a list of PropagationPolicy.
type PropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the policies, in no promised order.
	Items []PropagationPolicy `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterpropagationpolicies,scope=Cluster,shortName=cpp,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.preemption`,name="PREEMPTION",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.activationPreference`,name="ACTIVATION",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.templates.claimed`,name="CLAIMED",type=integer,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.templates.pending`,name="PENDING",type=integer,priority=1

// ClusterPropagationPolicy says to which clusters objects without a namespace,
// and objects of any namespace that is not reserved to the system, go. Reserved
// are karmada-system, karmada-cluster, sluice-system and karmada-es-*.
type ClusterPropagationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy selects and where that goes.
	// +required
	Spec PropagationSpec `json:"spec"`

	// Status is what the policy has brought about. Released clients do not
	// know it; it is written by Sluice alone.
	// +optional
	Status PropagationStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterPropagationPolicyList is a list of ClusterPropagationPolicy.
type ClusterPropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the policies, in no promised order.
	Items []ClusterPropagationPolicy `json:"items"`
}

// PropagationSpec is what a policy of either scope asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.preemption) || self.preemption != 'Always' || self.resourceSelectors.all(s, has(s.name) && size(s.name) > 0)",message="name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption",fieldPath=".resourceSelectors"
type PropagationSpec struct {
	// ResourceSelectors choose the templates. A template is selected if any
	// selector matches it. There is no way to select every kind, so that
	// nothing sensitive is propagated by omission. 1 to 1000 selectors.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	ResourceSelectors []ResourceSelector `json:"resourceSelectors"`

	// Association is the old name of PropagateDeps. Default false.
	//
	// Deprecated: use PropagateDeps.
	// +optional
	Association bool `json:"association,omitempty"`

	// PropagateDeps makes what a template refers to (a Deployment's
	// ConfigMaps, Secrets, …) follow it to the same clusters, without being
	// selected by a policy itself. Default false.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// Placement chooses the clusters. Empty means any cluster.
	// +optional
	Placement Placement `json:"placement,omitempty"`

	// Priority orders the policies that select one template: the highest
	// claims it. It may be negative. Among equals a selector by name beats one
	// by label, which beats one by kind alone; then the name that comes first
	// in the alphabet wins. Default 0.
	//
	// A template that is claimed stays with its policy, whatever priority
	// others have, unless one of them may pre-empt.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	Priority *int32 `json:"priority,omitempty"`

	// Preemption says whether the policy may take templates that other
	// policies hold. With Always, each resource selector needs a name.
	// Default Never.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Always;Never
	Preemption PreemptionBehavior `json:"preemption,omitempty"`

	// DependentOverrides are names of OverridePolicies in the policy's
	// namespace, and of ClusterOverridePolicies, that must exist before the
	// policy acts. Overrides that are not listed apply all the same.
	// +optional
	DependentOverrides []string `json:"dependentOverrides,omitempty"`

	// SchedulerName is the scheduler that picks the clusters. It cannot be
	// changed. Default default-scheduler.
	// +optional
	// +kubebuilder:default=default-scheduler
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the schedulerName should not be updated"
	SchedulerName string `json:"schedulerName,omitempty"`

	// Failover says how an application leaves a cluster that fails it. Nil
	// means that it stays.
	// +optional
	Failover *FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution says what happens to an object that is already in a
	// member and was not put there by us: Abort leaves it and reports it,
	// Overwrite takes it over. Default Abort.
	// +optional
	// +kubebuilder:default=Abort
	// +kubebuilder:validation:Enum=Abort;Overwrite
	ConflictResolution ConflictResolution `json:"conflictResolution,omitempty"`

	// ActivationPreference says when a change of this policy acts on templates
	// that are propagated already. Empty means at once; Lazy means with the
	// next change of the template itself. Which policy claims which template,
	// and suspension, are never delayed.
	// +optional
	// +kubebuilder:validation:Enum="";Lazy
	ActivationPreference ActivationPreference `json:"activationPreference,omitempty"`

	// Suspension holds back writes to members. Nil means none.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion keeps the objects in the members when their
	// template is deleted. It is for all members alike. Deleting the policy
	// never removes anything in a member, whatever this says. Default false.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// SchedulePriority orders the waiting bindings of the scheduler. Nil means
	// priority 0.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`
}

// ExplicitPriority is Priority with its default.
func (s *PropagationSpec) ExplicitPriority() int32 {
	if s.Priority == nil {
		return 0
	}
	return *s.Priority
}

// Lazy reports whether changes of the policy wait for the template to change.
func (s *PropagationSpec) Lazy() bool {
	return s.ActivationPreference == LazyActivation
}

// ResourceSelector chooses templates of one kind.
type ResourceSelector struct {
	// APIVersion of the templates: group and version, or the version alone for
	// the core group.
	// +required
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`

	// Kind of the templates.
	// +required
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`

	// Namespace of the templates. Empty means the policy's own namespace in a
	// namespaced policy and every namespace in a cluster policy. In a
	// namespaced policy it must be empty or the policy's own; that is checked
	// by the webhook, for a schema cannot see the policy's namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the one template. Empty means every name.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector narrows the choice by labels. It is ignored where Name is
	// set.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// PreemptionBehavior says whether a policy may take templates from others.
type PreemptionBehavior string

const (
	// PreemptAlways lets a policy take templates from policies of its own
	// scope with a lower priority, and a namespaced policy take them from any
	// cluster policy.
	PreemptAlways PreemptionBehavior = "Always"
	// PreemptNever lets a policy claim only what nobody holds.
	PreemptNever PreemptionBehavior = "Never"
)

// ConflictResolution says what happens to a member's object that is not ours.
type ConflictResolution string

const (
	// ConflictOverwrite takes the object over.
	ConflictOverwrite ConflictResolution = "Overwrite"
	// ConflictAbort leaves the object alone and reports it.
	ConflictAbort ConflictResolution = "Abort"
)

// ActivationPreference says when a change of a policy acts.
type ActivationPreference string

// LazyActivation delays changes of a policy until the template changes.
const LazyActivation ActivationPreference = "Lazy"

// SchedulePriority says how urgent the scheduling of a policy's templates is.
type SchedulePriority struct {
	// PriorityClassSource says what PriorityClassName refers to. The only
	// value is KubePriorityClass: a PriorityClass of scheduling.k8s.io/v1.
	// +required
	// +kubebuilder:validation:Enum=KubePriorityClass
	PriorityClassSource PriorityClassSource `json:"priorityClassSource"`

	// PriorityClassName names the priority class on the hub.
	// +required
	PriorityClassName string `json:"priorityClassName"`
}

// PriorityClassSource says where a priority class is defined.
type PriorityClassSource string

const (
	// KubePriorityClass is a PriorityClass of scheduling.k8s.io/v1.
	KubePriorityClass PriorityClassSource = "KubePriorityClass"
	// PodPriorityClass is the class that the pod template names. Reserved: no
	// release serves it.
	PodPriorityClass PriorityClassSource = "PodPriorityClass"
	// FederatedPriorityClass is a class of the federation's own. Reserved: no
	// release serves it.
	FederatedPriorityClass PriorityClassSource = "FederatedPriorityClass"
)
