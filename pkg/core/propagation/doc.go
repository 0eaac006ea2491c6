// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package propagation holds the nouns that every decision is about: Template,
// Policy, Claim, Binding and Work. The keys that name them are those of apis/keys.
//
// Invariants:
//   - One path for both scopes: propagation policies of either are one type
//     Policy, bindings of either one type Binding; the scope is a field of the
//     key. Kind names stand in pkg/hub.
//   - Values are immutable once read: whoever wants another value copies.
//   - The content hash covers exactly what belongs to the user (Content), so
//     that "did the user change it?" has one answer everywhere.
//
// It must not do any input or output, know the time, or log.
package propagation
