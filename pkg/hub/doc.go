// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package hub is the adapter of the control plane's API: typed reads,
// conditional commits, and watches. It is the one place that knows which kind
// serves which scope (scope.go); everybody else speaks of policies, bindings
// and Works.
//
// Reads of a kind that this process watches are answered from what the watch
// and the process's own writes have told (store.go), and cost no request; reads
// of any other kind are live.
//
// Invariants:
//   - Every write is conditional: on the resourceVersion that was read, on the
//     name being free, or, for a deletion, on the uid.
//   - A commit that would change nothing makes no request.
//   - A template is written in its claim, its baseline and its status, and in
//     nothing else; never as a whole.
//   - A process reads what it wrote, and is told by its watches of what others
//     wrote, once, and never of what it wrote itself.
//   - After a lost race the object is read live, so that trying again makes
//     progress.
//   - Values handed out are shared and must not be changed.
//
// Errors: a lost race is an outcome.Conflict, what does not exist (an object,
// or the namespace it should be made in) is outcome.ErrGone, what
// it does not serve outcome.ErrNotServed, which says nothing of what exists, what the
// API server calls invalid is outcome.Terminal. All say what was tried.
//
// Lists and watches are those of pkg/source/watch, and where kinds are served is asked
// with pkg/source/discovery; pkg/member does the same. What is found is believed for 30
// seconds.
//
// This package must not decide, log, or remember anything that it cannot read
// again.
package hub
