// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package member speaks to member clusters: it applies, observes, watches and
// deletes the objects that Works describe.
//
// Invariants:
//   - What to write, and whether, is decided in pkg/core/applying. Nothing is
//     deleted without a Removal, which only that makes.
//   - Every write is a server-side apply by one field manager, so that the
//     member's API server tells whose field is whose; with force, unless the Work
//     says not. What belongs to the member is not sent.
//   - A request ends after ten seconds, so that a dead member holds up nobody.
//   - Failures are types that say what a person can do: NotOurs, Refused,
//     NotServed, NoNamespace, Unreachable. Their messages are stable: the same
//     failure has the same words.
//
// It must not know hubs, policies or suspensions: who may write, and when, is decided
// before it is called.
package member
