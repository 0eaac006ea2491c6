// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package knative looks after the sources of a Knative cluster: which kinds the
// ApiServerSource of the templates and the ContainerSources of the members
// watch, which members these tell of, and of which image they are. And it deletes the
// Triggers and sources that earlier versions made for each member.
//
// Invariants:
//   - What watches the right kinds, in the right image, is not written: each write restarts an
//     adapter.
//   - A source is never given a kind that its account may not watch: Knative
//     would take it for broken, with all its other kinds.
//   - A member has one source, which it keeps for as long as it stays.
//   - Who looks after a source does not read the credentials that it has.
//
// It must not decide which kinds are wanted.
package knative
