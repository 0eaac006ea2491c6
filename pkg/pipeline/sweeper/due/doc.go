// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package due finds what may act by now though nobody wrote it: a gate was switched.
//
// Promise: what is due is announced, ten with each sweep, and asking for it takes a sweep
// a second at most; what waits at gates and what their switches concern is looked at until
// nothing is due any more, by whichever replica: how far that came, and by which gates, is
// among the positions.
// Decides with: pkg/core/gating and pkg/core/claiming.
// Emits: template.touched.
//
// It must not decide what the gate decides: it asks the same question, and wakes it.
package due
