// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 is the event contract: what the stages tell each other, and what
// any team may put a Trigger on.
//
// Every event is a CloudEvent 1.0. Its type is one of the constants here, in
// the past tense; its extensions serve to filter; its data is one JSON object,
// Data, that carries keys, versions and the reason, never the content of an
// object. Events are hints: the receiver reads the live state.
//
// Invariants:
//   - The id of an event is derived from what it tells, so that a redelivery is
//     a recognisable duplicate.
//   - An event is at most MaxSize bytes.
//   - Decode accepts whatever Encode makes, and what Knative's ApiServerSource
//     makes in Reference mode; everything else is an error that says what is
//     wrong, never a panic.
//
// This package must not import anything of Sluice but apis/keys.
package v1
