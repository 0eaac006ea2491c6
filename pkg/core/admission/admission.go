// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides what a policy looks like when it enters the hub:
// what is filled in (Default), what is refused (Validate) and what its author
// should know (Warn).
//
// Invariants:
//   - Nothing relies on it: a policy that is stored while the webhook is down does no
//     harm. Without a permanent id its UID serves as one, selectors that are not
//     specific preempt nothing (see matching.Candidate), and an absent field means its
//     default. The exception is propagateDeps: without it, a ServiceImport is
//     propagated without its EndpointSlices until the policy's author sets it.
//   - A policy's permanent id never changes: it is given at creation, restored
//     where an update drops it, and no update gives another.
//   - The spec is validated only if an update changes it, and never while the policy is
//     being deleted: so a policy that was once accepted can still be labelled,
//     annotated and deleted.
//   - A policy gets no finalizer: its deletion is seen by a watch, or else found by the
//     sweeper, so nothing has to delay it.
//
// Rules of the CRD's schema are not repeated here, except the names that preemption
// requires and the immutable schedulerName, so that each of these rules can be read in
// one place.
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

// judged reports whether p's spec has to be validated: at creation, and in an update
// that changes it.
func judged(p Policy, old *Policy) bool {
	return old == nil || !equality.Semantic.DeepEqual(Default(p, old, "").Spec, Default(*old, old, "").Spec)
}

// selector is where a selector stands.
func selector(i int, field string) string {
	return fmt.Sprintf("spec.resourceSelectors[%d].%s", i, field)
}
