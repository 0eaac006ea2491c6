// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package member is the client for member clusters: it applies, observes, watches and
// deletes the objects that Works describe.
//
// Invariants:
//   - pkg/core/applying decides what to write, and whether. Nothing is deleted without
//     a Removal, which only that package makes.
//   - Objects are written by server-side apply with one field manager, so that the
//     member's API server knows who owns which field; with force, unless the Work
//     forbids it. Fields that belong to the member are not sent. The exceptions are
//     EnsureNamespace, which creates, and Pass, which patches labels and annotations.
//   - A request about one object ends after ten seconds, so that a dead member does not
//     delay others. Lists may take longer, and watches last.
//   - Failures have types that tell a person what to do, such as NotOurs, Refused,
//     Contested, NotServed, NoNamespace and Unreachable. Their messages are stable: the
//     same failure has the same text.
//
// It must not know hubs, policies or suspensions: who may write, and when, is decided
// before it is called.
package member
