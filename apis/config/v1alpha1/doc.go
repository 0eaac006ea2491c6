// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds ResourceInterpreter of the group config.sluice.dev: how the
// owner of a kind teaches Sluice what it cannot know of it.
//
// Invariants:
//   - What OpenAPI can say is said here, in markers. Whether an expression compiles is
//     said by the webhook, and by the object's condition.
//
// The package holds types, their constants and methods that only read a value.
// It must not decide anything.
//
// +kubebuilder:object:generate=true
// +groupName=config.sluice.dev
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/boilerplate.go.txt crd output:crd:dir=../../../config/300-crds paths=.
