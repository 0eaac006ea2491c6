// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package knative looks after the sources of a Knative cluster: which kinds the
// ApiServerSource of the templates and the ContainerSources of the members
// watch, which members these tell of, and of which image they are. And it deletes the
// Triggers and sources that earlier versions made for each member.
//
// Invariants:
//   - A source that watches the right kinds, with the right image, is not written: each
//     write restarts an adapter.
//   - A source is never given a kind that its account may not watch: Knative would
//     report the whole source as failed, with all its other kinds.
//   - A member has one source, and keeps the same one for as long as it is joined.
//   - The credentials that a source uses are not read here.
//
// It must not decide which kinds are wanted.
package knative
