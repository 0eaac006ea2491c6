// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelinetest is the world around the stages, in memory: a hub, its
// members, a Redis, and the routes that the Triggers of config draw. It serves
// tests that want every stage in one process, and one request of one of them at
// a time.
//
// Invariants:
//   - What the API server would refuse is refused: writes are conditional on
//     uid and resourceVersion, names are taken once, what has finalizers stays.
//   - What is read is as pkg/hub would read it: with Options.Lag, what people
//     wrote is seen when a watch tells of it, and what stages wrote at once.
//   - Nothing happens by itself. Garbage is collected, news is told and members'
//     controllers act when the test says so.
//   - Nothing is random: the same calls give the same answers.
//   - In front of each request a test may say no, or let others have their turn
//     (Ask, Coroutine).
//
// It must not decide anything that a stage decides.
package pipelinetest
