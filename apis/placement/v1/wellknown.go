// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import "strings"

// Prefix starts the labels, annotations and finalizers of the API.
const Prefix = "kubernetes-fleet.io/"

// MaxNameLength is the longest name that a placement may have, in characters:
// it is the value of a label.
const MaxNameLength = 63

// MemberNamespacePrefix starts the name of each namespace that holds Works.
const MemberNamespacePrefix = "fleet-member-"

// MemberNamespace is the hub namespace of a member's Works.
func MemberNamespace(cluster string) string { return MemberNamespacePrefix + cluster }

// ClusterOf is the member whose Works a namespace holds; ok is false for any
// other namespace.
func ClusterOf(namespace string) (cluster string, ok bool) {
	cluster, ok = strings.CutPrefix(namespace, MemberNamespacePrefix)
	return cluster, ok && cluster != ""
}

// Finalizers.
const (
	// FinalizerPlacement and FinalizerScheduler hold a placement until its
	// snapshots, and until its bindings, are gone.
	FinalizerPlacement = Prefix + "crp-cleanup"
	FinalizerScheduler = Prefix + "scheduler-cleanup"
	// FinalizerBinding holds a binding until it was seen to go.
	FinalizerBinding = Prefix + "scheduler-crb-cleanup"
	// FinalizerWork holds a Work until its objects have left the member, and a
	// binding until its Works are gone.
	FinalizerWork = Prefix + "work-cleanup"
	// FinalizerOverride holds an override until its snapshots are gone.
	FinalizerOverride = Prefix + "override-cleanup"
)

// Labels and annotations of snapshots and bindings.
const (
	// LabelParentCRP names the placement, on all that is made from it.
	LabelParentCRP = Prefix + "parent-CRP"
	// LabelIsLatestSnapshot is true on the newest snapshot, else false.
	LabelIsLatestSnapshot = Prefix + "is-latest-snapshot"
	// LabelPolicyIndex is the index of a ClusterSchedulingPolicySnapshot.
	LabelPolicyIndex = Prefix + "policy-index"
	// LabelResourceIndex is the index of a ClusterResourceSnapshot, the same for
	// all its parts.
	LabelResourceIndex = Prefix + "resource-index"
	// LabelFleetResource marks an object as the fleet's own.
	LabelFleetResource = Prefix + "is-fleet-resource"

	// AnnotationCRPGeneration is the placement's generation that an object was
	// made for, or brought up to.
	AnnotationCRPGeneration = Prefix + "CRP-generation"
	// AnnotationNumberOfClusters is how many members a PickN policy wants.
	AnnotationNumberOfClusters = Prefix + "number-of-clusters"
	// AnnotationResourceHash, on the first part, is the SHA-256 hash of all.
	AnnotationResourceHash = Prefix + "resource-hash"
	// AnnotationNumberOfResourceSnapshots, on the first part, is the number of
	// parts.
	AnnotationNumberOfResourceSnapshots = Prefix + "number-of-resource-snapshots"
	// AnnotationNumberOfEnvelopedObjects, on the first part, is the number of
	// envelopes in all.
	AnnotationNumberOfEnvelopedObjects = Prefix + "number-of-enveloped-object"
	// AnnotationSubindex is the number of a part that is not the first, from 0.
	AnnotationSubindex = Prefix + "subindex-of-resource-snapshot"
	// AnnotationNextSnapshotCandidate is when a change was first seen that is
	// not in the newest snapshot yet.
	AnnotationNextSnapshotCandidate = Prefix + "next-resource-snapshot-candidate-detection-time"
	// AnnotationPreviousBindingState is the state that an Unscheduled binding
	// had.
	AnnotationPreviousBindingState = Prefix + "previous-binding-state"
)

// Labels and annotations of overrides' snapshots.
const (
	// LabelOverrideIndex is the index of the snapshot.
	LabelOverrideIndex = Prefix + "override-index"
	// LabelParentOverride names the override.
	LabelParentOverride = Prefix + "parent-resource-override"
)

// Labels and annotations of Works.
const (
	// LabelParentBinding names the binding.
	LabelParentBinding = Prefix + "parent-resource-binding"
	// LabelParentSnapshotIndex is the index of the snapshot.
	LabelParentSnapshotIndex = Prefix + "parent-resource-snapshot-index"
	// LabelEnvelopeType, LabelEnvelopeNamespace and LabelEnvelopeName say of
	// which envelope a Work is made.
	LabelEnvelopeType      = Prefix + "envelope-work"
	LabelEnvelopeNamespace = Prefix + "envelope-namespace"
	LabelEnvelopeName      = Prefix + "envelope-name"

	// AnnotationParentSnapshotName names the first part of the snapshot.
	AnnotationParentSnapshotName = Prefix + "parent-resource-snapshot-name"
	// AnnotationParentClusterOverridesHash and AnnotationParentOverridesHash are
	// hashes of the lists of overrides that were applied.
	AnnotationParentClusterOverridesHash = Prefix + "parent-cluster-resource-override-snapshot-hash"
	AnnotationParentOverridesHash        = Prefix + "parent-resource-override-snapshot-hash"
)

// AnnotationEnvelopeConfigMap, with the value true, makes a ConfigMap an
// envelope.
const AnnotationEnvelopeConfigMap = Prefix + "envelope-configmap"

// Annotations of a member's object.
const (
	// AnnotationSpecHash is the hash of the manifest.
	AnnotationSpecHash = Prefix + "spec-hash"
	// AnnotationLastApplied is the manifest as it was applied last.
	AnnotationLastApplied = Prefix + "last-applied-configuration"
)

// Variables in the value of an override.
const (
	// VariableClusterName stands for the member's name.
	VariableClusterName = "${MEMBER-CLUSTER-NAME}"
	// VariableClusterLabelPrefix, a label's key and a closing brace stand for
	// the value of that label of the member.
	VariableClusterLabelPrefix = "${MEMBER-CLUSTER-LABEL-KEY-"
)

// EventComponent is who Kubernetes events about placements come from.
const EventComponent = "cluster-resource-placement-controller"
