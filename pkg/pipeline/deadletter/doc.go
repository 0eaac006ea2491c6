// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package deadletter receives the events that no stage could handle after all attempts.
//
// Consumes: any event, with what the broker says about its failure.
// Commits: the event in Redis, from where the sweeper sends it once more. Events that
// their stage would never accept, and events that are not part of the contract, are not
// stored: the space is for events that somebody waits for. On Knative with
// authentication, the sender has to show a token, as for each function.
// Emits: nothing.
//
// Each event is one log line at level error, and counts in
// sluice_events_total{stage="deadletter"}, on which an alert can be based.
//
// Twice is safe: the event is logged and counted twice, and stored once.
//
// It must not return an error: its own dead letters would have nowhere to go.
package deadletter
