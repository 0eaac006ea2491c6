// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporting decides what of a member's object is reported to the hub,
// and sums up what the members report: for the Work, the binding and the
// template.
//
// Invariants:
//   - The same states give the same report, byte for byte: it is sorted, and
//     carries no time but those that members or conditions carry already.
//   - A binding is summed up once each of its Works has come to a conclusion
//     about what it says now (Concluded).
//   - A template's status never says more than is true: its generation counts
//     as observed only where every member observed what was made of it.
//   - Fields of a template's status that no rule names stay as they are.
//   - What has the wrong form counts as absent, and never panics.
//
// It must not know the time: it is told.
package reporting
