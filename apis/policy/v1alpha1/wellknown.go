// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations that record a claim. They stand on the claimed
// template and on its binding. The permanent id outlives a rename of the
// namespace or the policy's deletion and re-creation under the same name, so it
// is the identity; namespace and name are for people.
const (
	// LabelPropagationPolicyPermanentID holds the permanent id of the
	// namespaced policy that claims the object. On a policy it holds the
	// policy's own id.
	LabelPropagationPolicyPermanentID = "propagationpolicy.karmada.io/permanent-id"
	// LabelClusterPropagationPolicyPermanentID is the same for a cluster policy.
	LabelClusterPropagationPolicyPermanentID = "clusterpropagationpolicy.karmada.io/permanent-id"

	// AnnotationPropagationPolicyNamespace is the namespace of the claiming policy.
	AnnotationPropagationPolicyNamespace = "propagationpolicy.karmada.io/namespace"
	// AnnotationPropagationPolicyName is the name of the claiming policy.
	AnnotationPropagationPolicyName = "propagationpolicy.karmada.io/name"
	// AnnotationClusterPropagationPolicyName is the name of the claiming cluster policy.
	AnnotationClusterPropagationPolicyName = "clusterpropagationpolicy.karmada.io/name"

	// LabelSkipAutoPropagation is a user's label: a namespace that carries it
	// with the value "true" is not propagated to the members by itself.
	LabelSkipAutoPropagation = "namespace.karmada.io/skip-auto-propagation"
)

// DefaultSchedulerName is the scheduler of a policy that names none.
const DefaultSchedulerName = "default-scheduler"

// Reasons of the Kubernetes events that a pre-empted template receives.
const (
	EventReasonApplyPolicySucceed   = "ApplyPolicySucceed"
	EventReasonPreemptPolicySucceed = "PreemptPolicySucceed"
	EventReasonPreemptPolicyFailed  = "PreemptPolicyFailed"
)
