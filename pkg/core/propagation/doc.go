// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package propagation defines the types that every decision is about: Template, Policy,
// Claim, Binding and Work. The keys that name them are those of apis/keys.
//
// Invariants:
//   - Both scopes have one path: propagation policies of either scope are one type
//     Policy, bindings of either scope one type Binding, and the scope is a field of
//     the key. Only pkg/hub knows the names of the kinds.
//   - Values are immutable once read: to change one, copy it.
//   - The content hash covers exactly what belongs to the user (Content), so that "did
//     the user change it?" has one answer everywhere.
//
// It must not do any input or output, know the time, or log.
package propagation
