// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is `kubectl sluice`, with one file for each command.
//
// Invariants:
//   - Decisions are made by the functions that the stages use (package explaining); a
//     command only reads, shows, and records requests.
//   - Every write is conditional on what was read, and can be repeated: a command that
//     was interrupted can be run again, and continues.
//   - Every refusal says what to do instead.
//
// It must not write to templates, except where a person asks for that (suspend, resume,
// rollback), nor to members, except for unjoin --purge.
package cli
