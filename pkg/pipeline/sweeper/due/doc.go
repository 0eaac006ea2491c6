// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package due finds changes that may take effect by now although nobody wrote anything:
// a feature gate was switched.
//
// Invariants:
//   - What is due is announced, ten with each sweep, and looking for it takes at most a
//     second of a sweep.
//   - Pending bindings, and claims that depend on the gates, are checked until nothing
//     is due any more, by any replica: how far that came, and for which gates, is
//     stored as a position.
//
// Decides with: pkg/core/gating and pkg/core/claiming.
// Emits: template.touched.
//
// It must not decide what the gate decides: it asks the same question, and sends it an
// event.
package due
