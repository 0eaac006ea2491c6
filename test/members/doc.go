// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package members plays member clusters: many API servers in one process, each on
// a port of its own, with objects in memory, for measurements with more members
// than a machine has room for real ones.
//
// It speaks what Kubernetes' API server speaks of the kinds in kind.go: discovery
// in both forms, get, list in pages, watch with bookmarks and with initial events,
// create, update, server-side apply, merge and JSON patches, deletion with
// preconditions, the subresource status. Managed fields, conflicts and the merging
// of lists are Kubernetes' own code on Kubernetes' own schema.
//
// What differs from a real one:
//   - nothing validates but the schema, and few defaults are set (default.go);
//   - there are no controllers: a Deployment is available as soon as it is written,
//     a namespace's content goes with it, nobody makes pods;
//   - a continued list shows what is there now, not what was at its first page;
//   - nothing is on disk, and nothing is authorized beyond the token, which may do all.
//
// Each request is noted in an audit log as a real API server writes it, so that
// whoever counts need not know the difference.
package members
