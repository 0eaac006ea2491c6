// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package standalone runs all stages in one process: with the Triggers of
// config, an in-process broker, watches as the source of events, and, unless
// told otherwise, a Redis of its own.
//
// Invariants:
//   - The stages, the Triggers and the events are those of Knative; only what
//     carries the events differs.
//   - What exists at the start is announced as if it had just been made.
//   - The kinds that are watched on the hub follow the policies, those in a
//     member follow what is applied there.
//
// It must not decide anything about propagation.
package standalone
