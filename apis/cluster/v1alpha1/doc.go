// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds Cluster of the group cluster.karmada.io: a member
// cluster, how it is reached, and how it is.
//
// Invariants:
//   - The wire format is the released one. Here Cluster is a custom resource
//     without a namespace, not an aggregated API.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.karmada.io
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
