// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulation runs the whole pipeline in one process, against a hub,
// members and a Redis in memory, and checks it against a small reference model.
//
// A history is a list of what people do (templates, policies, gates, members),
// what befalls the system (restarts, a flushed Redis, members away), and for how
// long events are delivered in between. All of it, and the order in which the
// requests of concurrent stages come, is drawn from one seed. Events are never
// lost for good, but reordered, repeated and delayed; stages crash between any
// two requests, lose races and get errors.
//
// When a history comes to rest:
//
//   - what each template is claimed by, and what is in force for it, is what the
//     model allows (model_test.go, history_test.go);
//   - Works, members' objects, conditions and Redis follow from what is in force
//     (rest_test.go);
//   - repeating every event, restarting everything and flushing Redis writes
//     nothing, and tells people nothing in a Kubernetes Event (final_test.go).
//
// At each write to a member or a binding, what must never happen is checked at
// once (safety_test.go): nothing is written where it is suspended, nothing that
// the gate did not let through, nothing where no policy wanted it, and no Lazy
// policy acts without a change of its template.
//
// TestSimulation, TestWider and TestPlaced are three families of histories, each with
// seeds of its own. The second has overrides, divided replicas, taints, members that leave
// and come back, kinds that are not served, rights that are revoked, on the hub and in
// members, backups that are restored and events that somebody forged besides
// (wider_test.go). The third has placements, and no policies: who is picked, what each
// member has, what is told, and at what pace changes are rolled out (placed_test.go).
// TestC75Y9HistoriesWhereObjectsHaveSeveralOwners has placements and policies that want the
// same objects, envelopes, evictions, and members that had such objects before
// (shared_test.go). TestZ12HistoriesWithLabels has policies that choose clusters by labels,
// which change; TestZ14HistoriesWithVersions has a kind of two versions, which the hub
// ceases and begins to serve (versions_test.go). TestY6Y8HistoriesWithTwoSweepers has two
// processes, both of which sweep at once, and a Broker that delivers the last minute again.
//
// A history that fails is shrunk and printed, with its seed:
//
//	SIM_SEEDS=10000 go test ./test/simulation     as many histories
//	SIM_SEED=42 go test ./test/simulation -v      that one alone
//	SIM_SEED=42 go test ./test/simulation -run Wider
//	SIM_TRACE=1                                   every event that a failing one handles
//
// The first two may be flags, too: -seeds, -seed.
package simulation
