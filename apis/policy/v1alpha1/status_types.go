// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PropagationStatus is what a policy of either scope has brought about. It is
// ours: released systems serve no status on policies.
type PropagationStatus struct {
	// ObservedGeneration is the generation of the policy that this status
	// speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Templates counts the templates that the policy holds.
	// +optional
	Templates TemplateCounts `json:"templates,omitempty"`

	// Conditions tell, among others, which fields of the policy are served but
	// not acted on.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TemplateCounts counts templates of one policy. A template may be counted in
// several fields: a suspended one is also claimed, and active or pending.
type TemplateCounts struct {
	// Claimed by this policy.
	// +optional
	Claimed int32 `json:"claimed,omitempty"`

	// Active: propagated as the policy now says.
	// +optional
	Active int32 `json:"active,omitempty"`

	// Pending: claimed, and waiting for the template to change before the
	// policy's current form acts on it.
	// +optional
	Pending int32 `json:"pending,omitempty"`

	// Suspended: held back in at least one cluster.
	// +optional
	Suspended int32 `json:"suspended,omitempty"`

	// Failed: not scheduled, or refused by at least one member.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}
