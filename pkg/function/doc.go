// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package function is the shared runtime of every stage: what stands between
// an event and Stage.Handle, wherever the stage runs. A stage deployed as a
// Knative Service runs under Main; the in-process broker of standalone calls
// the same Runner.
//
// Runner.Run takes an event through: validity and size, trace, the stage with
// in-process retries of lost races, recovery from panics, the outcome with its
// reason, one log line, metrics. Main adds HTTP: it serves the event at POST /,
// posts what the stage emits to the broker named by K_SINK, answers as outcome.go
// says, and drains on SIGTERM. A function without K_SINK has its one event in the
// reply.
//
// The environment that Main reads: PORT (8080), CONCURRENCY (64), K_SINK (no
// default, a SinkBinding sets it), LOG_LEVEL (info).
//
// Invariants:
//   - Every event ends in exactly one Result and one log line, a malformed,
//     oversized or poisonous one too; nothing that an event holds ends the
//     process.
//   - Outcomes become HTTP statuses in outcome.go and nowhere else; the answer
//     is never 404, 408 or 409, which a broker would retry for no reason.
//   - An event is answered with success only after all that the stage emitted
//     has been accepted by the broker or stands in the reply.
//   - Two events of one lane are not handled at once in one process. Of events that
//     wait and tell the same, one is handled for all of them, and all get its answer.
//   - A running event is not cut off by SIGTERM; only Timeout ends it.
//
// It must not decide anything about policies, templates or members, nor import
// a stage or an adapter.
package function
