// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package hub is the adapter of the control plane's API: typed reads,
// conditional commits, and watches. It is the one place that knows which kind
// serves which scope (scope.go); everybody else speaks of policies, bindings
// and Works.
//
// Reads of a kind that this process watches are answered from what the watch
// and the process's own writes have told (store.go), and cost no request; reads
// of any other kind are live. Live reads of one object at the same time share a request
// that begins after each of them (share.go).
//
// Invariants:
//   - Every write is conditional: on the resourceVersion that was read, on the
//     name being free, or, for a deletion, on the uid.
//   - A commit that would change nothing makes no request.
//   - A template is written in its claim, its baseline and its status, and in
//     nothing else; never as a whole.
//   - A process reads its own writes. Its watches report the writes of others, each
//     once, and never its own.
//   - After a lost race the object is read live, so that trying again makes
//     progress.
//   - Values handed out are shared and must not be changed.
//
// Errors: a lost race is an outcome.Conflict. An object that does not exist, or the
// namespace that it should be created in, is outcome.ErrGone. A kind that the API
// server does not serve is outcome.ErrNotServed, which does not mean that there are no
// objects of it. What the API server calls invalid is outcome.Terminal. All errors say
// what was tried.
//
// Lists and watches are those of pkg/source/watch, and pkg/source/discovery finds where
// kinds are served; pkg/member uses the same two. That a kind is served is cached for
// 30 seconds.
//
// How old something is depends on the hub's clock, which stamps it: Now tells the hub's
// time (clock.go), and this process's counts for nothing.
//
// This package must not decide, log, or remember anything that it cannot read
// again.
package hub
