// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds Work of the group work.karmada.io: what one member
// cluster gets, and what became of it there. A Work stands in the namespace
// that ExecutionNamespace gives for its cluster.
//
// Invariants:
//   - The wire format is the released one. status.applied is ours and
//     optional.
//   - A manifest is kept as it was written; nothing of it is pruned.
//
// The package holds types and their constants. It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
