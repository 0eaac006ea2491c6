// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds is what Sluice knows about kinds of objects, and the only place where
// it knows it. All objects are carried alike; where a kind wants more than that, it has
// abilities here, each of which may be absent:
//
//   - which values an API server or a controller assigned to an object that no other
//     cluster can use (Prune), and which of the hub's values each member has to assign
//     for itself (Unshare);
//   - how many of it run (Replicas, SetReplicas);
//   - which part of its status members report (Report), and whether that says which
//     generation it is of (Observes);
//   - whether an object does its job (Health), and whether placements wait for that
//     (Awaited);
//   - how the template's status is computed from the members' (Total);
//   - what an object refers to (References);
//   - whether an object finishes, as a Job does (Ends, Ended).
//
// Which kind has which is in the table of [kinds_test.go], which is compared with the
// code. A kind that is not in that table is treated as kinds are by convention
// (unknown.go). The owner of a kind gives it abilities of its own (Own), written as
// rules (package rules): they are in a [Table], which whoever decides is given.
//
// Invariants:
//   - The answer follows from the object alone.
//   - A field of the wrong form counts as absent, and never causes a panic.
//
// It must not know clusters, policies or Works; of versions of an API it knows none.
package kinds
