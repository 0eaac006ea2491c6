// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The condition of a ResourceInterpreter.
const (
	// ConditionAccepted is True while the rules act, and False where one is wrong or
	// another object has rules for the kind.
	ConditionAccepted = "Accepted"

	// ReasonAccepted is the reason while it is True.
	ReasonAccepted = "Accepted"
	// ReasonInvalidRules: a rule is wrong; the message names its field.
	ReasonInvalidRules = "InvalidRules"
	// ReasonConflict: an older object has rules for the kind.
	ReasonConflict = "Conflict"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=resourceinterpreters,scope=Cluster,shortName=ri,categories={sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.target.apiVersion`,name="API-Version",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.target.kind`,name="Kind",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,name="Accepted",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`,name="Reason",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ResourceInterpreter says what Sluice has to know of a kind to carry its objects well:
// rules in CEL, the language of the API server's own validations. A rule sees the object
// as the variable object; a field that may be absent has to be asked for with has() or
// with object.?status.?phase.orValue(”).
type ResourceInterpreter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the kind, and its rules.
	// +required
	Spec ResourceInterpreterSpec `json:"spec"`

	// Status tells whether the rules act.
	// +optional
	Status ResourceInterpreterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ResourceInterpreterList is a list of ResourceInterpreter.
type ResourceInterpreterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the interpreters, in no promised order.
	Items []ResourceInterpreter `json:"items"`
}

// ResourceInterpreterSpec is a kind, and its rules.
type ResourceInterpreterSpec struct {
	// Target is the kind. Of several objects for one kind the oldest acts, or the first
	// by name.
	// +required
	Target Target `json:"target"`

	// Rules say what is known of the kind. What no rule says is as it is by convention,
	// or as Sluice knows it.
	// +required
	Rules Rules `json:"rules"`
}

// Target names a kind.
type Target struct {
	// APIVersion of the kind, as in example.com/v1. The rules are for the kind in all of
	// its versions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind, as in Widget. A Secret has no rules.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// Rules say what is known of a kind. Each may be absent.
type Rules struct {
	// Replicas says how many of an object run, so that a placement can divide them.
	// +optional
	Replicas *ReplicasRule `json:"replicas,omitempty"`

	// Health tells whether an object in a member does its job: a bool, or one of
	// 'Healthy', 'Unhealthy' and 'Unknown'. Where it fails, health is Unknown.
	// +optional
	Health *Rule `json:"health,omitempty"`

	// Status is the part of a member's status that is reported: a map. Where it fails,
	// nothing is reported.
	// +optional
	Status *Rule `json:"status,omitempty"`

	// AggregatedStatus is what of the template's status is made of the members': a map,
	// whose fields replace those of the status; a null removes one. The variable members
	// is a list of {cluster, status}, sorted by cluster. Where it fails, the status stays
	// as it is.
	// +optional
	AggregatedStatus *Rule `json:"aggregatedStatus,omitempty"`

	// MemberFields are the fields that a member changes and keeps, as paths below spec:
	// spec.paused. What the template says of them is where a new object begins.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	MemberFields []string `json:"memberFields,omitempty"`

	// Dependencies are the objects that an object refers to, which follow it where the
	// policy propagates dependencies: a list of {apiVersion, kind, name} in the
	// object's namespace. Where it fails, those that follow it go on doing so.
	// +optional
	Dependencies *Rule `json:"dependencies,omitempty"`
}

// Rule is an expression.
type Rule struct {
	// Expression is in CEL. The variable object is the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Expression string `json:"expression"`
}

// ReplicasRule says how many of an object run, and where that stands.
type ReplicasRule struct {
	// Path of the field, below spec, that a member's share is written to: spec.size.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path"`

	// Expression is how many of the object run: a whole number, in CEL. Without it, it
	// is the number at the path, which then has to be there. Where it fails, nothing of
	// the template is let through, and what runs stays.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Expression string `json:"expression,omitempty"`
}

// ResourceInterpreterStatus tells whether the rules act.
type ResourceInterpreterStatus struct {
	// ObservedGeneration is the generation that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Accepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
