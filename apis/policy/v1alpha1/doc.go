// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the policies of the group policy.karmada.io: which
// objects go to which clusters (PropagationPolicy, ClusterPropagationPolicy)
// and what is changed on the way (OverridePolicy, ClusterOverridePolicy).
//
// Invariants:
//   - The wire format is the released one. Fields of our own are optional, and
//     an object without them means what it means to released clients.
//   - A namespaced kind and its cluster-scoped twin share one Spec, so that a
//     rule is written once.
//   - What OpenAPI and CEL can say is said here, in markers. What they cannot
//     say (the namespace of the policy itself, whether a kind is namespaced)
//     is the webhook's.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=policy.karmada.io
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
