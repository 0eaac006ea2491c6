// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package placementv1 holds the group placement.kubernetes-fleet.io at v1:
// which objects of the hub are placed together and where
// (ClusterResourcePlacement), what was selected and asked for at a time (the
// snapshots), which cluster got it (ClusterResourceBinding), what is changed on
// the way (the overrides), and what one member gets (Work).
//
// Invariants:
//   - The wire format is the released one. Fields of our own are optional.
//   - What is defaulted on admission is what the code takes an absent value for,
//     so that two ways to say one thing have one hash.
//   - What OpenAPI and CEL can say is said here, in markers. What they cannot
//     say (is a kind served, has it a namespace, is a snapshot's content as it
//     was) is the webhook's.
//   - A rule about spec.policy of a placement stands on that field, not on its
//     type: a snapshot of a policy lacks the number of clusters.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=placement.kubernetes-fleet.io
// +versionName=v1
package placementv1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
