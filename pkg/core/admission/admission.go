// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides what a policy looks like when it enters the hub:
// what is filled in (Default), what is refused (Validate) and what its author
// should know (Warn).
//
// Invariants:
//   - Nothing relies on it: whatever is stored unseen, while nobody answers for
//     admission, does no harm. A policy without a permanent id has its UID for
//     one, an unspecific policy preempts nothing (see matching.Candidate), and
//     a default is what its absence means. (But for propagateDeps: without it,
//     a ServiceImport travels alone until its author mends that.)
//   - A policy's permanent id never changes: it is given at creation, restored
//     where an update drops it, and no update gives another.
//   - An update is judged only where it changes the spec, and a policy that is
//     being deleted not at all: what was let in once can still be labelled,
//     annotated and deleted.
//   - A policy gets no finalizer: its end is seen, and found again by the
//     sweeper, without holding up anybody's deletion.
//
// What the schema of the CRD says is not repeated here, but for the names that
// preemption needs and the immutable schedulerName, so that a rule can be read
// in one place.
package admission

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Policy is a policy as somebody sends it, or as it stands.
type Policy struct {
	Key propagation.PolicyKey
	// UID is empty at creation.
	UID      types.UID
	Labels   map[string]string
	Deleting bool
	Spec     policyv1alpha1.PropagationSpec
}

// Override is an override policy as somebody sends it.
type Override struct {
	Key      propagation.PolicyKey
	Deleting bool
	Spec     policyv1alpha1.OverrideSpec
}

// Fault is what is wrong with a policy.
type Fault struct {
	// Field is where, as in "spec.resourceSelectors[0].name".
	Field string
	// Detail is why, and what to do.
	Detail string
}

// idLabel is the label of the permanent id.
func (p *Policy) idLabel() string {
	if p.Key.Scope == propagation.Cluster {
		return propagation.ClaimLabelCluster
	}
	return propagation.ClaimLabelNamespaced
}

// id is the permanent id; the UID where no label says another.
func (p *Policy) id() string { return cmp.Or(p.Labels[p.idLabel()], string(p.UID)) }

// judged tells whether p's spec is new: at creation, and where an update says
// anything else than before.
func judged(p Policy, old *Policy) bool {
	return old == nil || !equality.Semantic.DeepEqual(Default(p, old, "").Spec, Default(*old, old, "").Spec)
}

// selector is where a selector stands.
func selector(i int, field string) string {
	return fmt.Sprintf("spec.resourceSelectors[%d].%s", i, field)
}
