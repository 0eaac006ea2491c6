// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package memberclusterv1 holds MemberCluster of the group
// cluster.kubernetes-fleet.io: a member as placements see it. The Cluster of the
// same name is the same member as policies see it, and how it is reached.
//
// Invariants:
//   - The wire format is the released one.
//   - What OpenAPI and CEL can say is said here, in markers.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.kubernetes-fleet.io
// +versionName=v1
package memberclusterv1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
