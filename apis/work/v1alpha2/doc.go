// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the bindings of the group work.karmada.io: the policy
// as it is in force for one template, and the clusters chosen for it. A
// ResourceBinding stands for a template with a namespace, a
// ClusterResourceBinding for one without.
//
// Invariants:
//   - The wire format is the released one.
//   - Both kinds share one Spec and one Status, so that a rule is written once.
//   - The binding is a snapshot: who schedules or renders reads it and never
//     the policy.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha2

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
