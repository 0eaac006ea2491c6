// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package deadletter is where the broker sends the events that no stage could
// handle, after all attempts.
//
// Consumes: any event, with what the broker says about its failure.
// Commits: the event in Redis, from where the sweeper sends it once more, unless
// it is one that its stage would never take, or that is none of the contract's: the
// room is for what somebody waits for. Where Knative has tokens, who brings a letter
// shows one, as for each function.
// Emits: nothing.
//
// What it takes is one log line at level error, and one in
// sluice_events_total{stage="deadletter"}: an alert is made of that.
//
// Twice is safe: it is told and counted twice, and kept once.
//
// It must not answer with a failure: its dead letters would have no place to go.
package deadletter
