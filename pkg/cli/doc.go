// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is `kubectl sluice`: one file for each command.
//
// Invariants:
//   - What is decided is decided by the functions that the stages decide with
//     (explaining); a command only reads, shows, and records requests.
//   - Every write is conditional on what was read, and can be repeated: a
//     command that was interrupted is run again, and goes on.
//   - Every refusal says what to do instead.
//
// It must not write to templates, nor to members but where a person asked for
// that by name (unjoin --purge).
package cli
