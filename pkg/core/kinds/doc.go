// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds is what Sluice knows about kinds of objects. All objects are carried
// alike; where a kind wants more than that, it has abilities here, each of which may be
// absent: values that no other cluster can use, or that each has to assign (Prune,
// Unshare), replicas, what members report and whether they have observed it (Report,
// Observes), health and whether placements wait for it (Health, Awaited), the sum of
// the members' statuses (Total), references, and that it finishes (Ends, Ended).
//
// Which kind has which is in the table of [kinds_test.go], which is compared with the
// code. A kind that is not in it is treated by convention (unknown.go). Its owner may
// give it abilities, written as rules (package rules): they are in a [Table].
//
// Known elsewhere is what is no ability of a kind but part of a step:
//   - matching and placing know what is never carried; placing, the order of applying.
//   - dependencies knows which kinds can follow a template.
//   - propagation and rendering know Secrets, whose data is kept apart, and envelopes.
//   - applying, and pkg/member for it, knows what an object contains in its member, node
//     ports, who scales it, that its namespace has to be created.
//
// Health is not that of kstatus (sigs.k8s.io/cli-utils), which reads the clock, takes a
// kind of a team's with Available False and an autoscaler that cannot scale for healthy,
// and needs 12 µs and 28 allocations where this needs 1.4 µs and 3.
//
// The answer follows from the object alone; a field of the wrong form counts as absent,
// and never causes a panic. It must not know clusters, policies, Works or versions.
package kinds
