// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// ExecutionNamespacePrefix starts the name of each namespace that holds Works.
const ExecutionNamespacePrefix = "karmada-es-"

// ExecutionNamespace is the hub namespace of a cluster's Works.
func ExecutionNamespace(cluster string) string {
	return ExecutionNamespacePrefix + cluster
}

// ClusterOf is the cluster whose Works a namespace holds; ok is false for any
// other namespace.
func ClusterOf(namespace string) (cluster string, ok bool) {
	cluster, ok = strings.CutPrefix(namespace, ExecutionNamespacePrefix)
	if !ok || cluster == "" {
		return "", false
	}
	return cluster, true
}

// Labels and annotations of Works and of the objects made from them.
const (
	// LabelManaged marks each object that we put into a member, with the value
	// LabelManagedValue. An object without it is never deleted.
	LabelManaged      = "karmada.io/managed"
	LabelManagedValue = "true"

	// LabelPermanentID is the Work's own identity, on the Work and on the
	// member's object.
	LabelPermanentID = "work.karmada.io/permanent-id"

	// AnnotationNamespace and AnnotationName, on a member's object, name its
	// Work.
	AnnotationNamespace = "work.karmada.io/namespace"
	AnnotationName      = "work.karmada.io/name"

	// AnnotationConflictResolution, on a template, overrides the policy's
	// conflictResolution: ConflictResolutionOverwrite or
	// ConflictResolutionAbort.
	AnnotationConflictResolution = "work.karmada.io/conflict-resolution"
	ConflictResolutionOverwrite  = "overwrite"
	ConflictResolutionAbort      = "abort"

	// AnnotationTemplateUID, on a manifest, is the uid of its template.
	AnnotationTemplateUID = "resourcetemplate.karmada.io/uid"
	// AnnotationTemplateGeneration, on a manifest, is the generation of the
	// template that it was made from.
	AnnotationTemplateGeneration = "resourcetemplate.karmada.io/generation"
	// AnnotationManagedLabels and AnnotationManagedAnnotations, on a manifest,
	// list the keys that come from the template, sorted and separated by
	// commas, so that a key removed there is removed in the member.
	AnnotationManagedLabels      = "resourcetemplate.karmada.io/managed-labels"
	AnnotationManagedAnnotations = "resourcetemplate.karmada.io/managed-annotations"
)
