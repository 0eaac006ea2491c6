// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Labels and annotations that lead from a Work, and from a member's object,
// back to its binding.
const (
	// LabelResourceBindingPermanentID is the binding's identity, on the
	// binding itself and on each of its Works.
	LabelResourceBindingPermanentID = "resourcebinding.karmada.io/permanent-id"
	// LabelClusterResourceBindingPermanentID is the same for a binding without
	// a namespace.
	LabelClusterResourceBindingPermanentID = "clusterresourcebinding.karmada.io/permanent-id"

	// AnnotationResourceBindingNamespace and AnnotationResourceBindingName, on
	// a Work, name its binding.
	AnnotationResourceBindingNamespace = "resourcebinding.karmada.io/namespace"
	AnnotationResourceBindingName      = "resourcebinding.karmada.io/name"
	// AnnotationClusterResourceBindingName, on a Work, names its binding
	// without a namespace.
	AnnotationClusterResourceBindingName = "clusterresourcebinding.karmada.io/name"
)

// Reasons of a GracefulEvictionTask.
const (
	EvictionReasonTaintUntolerated   = "TaintUntolerated"
	EvictionReasonApplicationFailure = "ApplicationFailure"
)

// EvictionProducerTaintManager is the producer of a GracefulEvictionTask that a
// taint caused.
const EvictionProducerTaintManager = "TaintManager"

// Reasons of the Kubernetes events about a binding, and about its template.
const (
	EventReasonScheduleBindingSucceed = "ScheduleBindingSucceed"
	EventReasonScheduleBindingFailed  = "ScheduleBindingFailed"
	EventReasonSyncWorkSucceed        = "SyncWorkSucceed"
	EventReasonSyncWorkFailed         = "SyncWorkFailed"
	EventReasonAggregateStatusSucceed = "AggregateStatusSucceed"
	// EventReasonDependencyPolicyConflict: policies want contrary things of what
	// their templates have in common.
	EventReasonDependencyPolicyConflict = "DependencyPolicyConflict"

	// About the template.
	EventReasonGetDependenciesSucceed     = "GetDependenciesSucceed"
	EventReasonApplyOverridePolicySucceed = "ApplyOverridePolicySucceed"
	EventReasonApplyOverridePolicyFailed  = "ApplyOverridePolicyFailed"
)
