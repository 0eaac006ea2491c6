// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package redis is the folder of everything that Sluice keeps in Redis. It has
// no code of its own.
//
// The packages, and the keys that each writes:
//
//	claims       which policy holds which template, which policies may select
//	             it, which templates wait; the rebuild of it all.
//	             epoch lock progress revision indexed policies selectors
//	             index templates held waiting, and one entry of notices
//	suspension   to which clusters nothing may be written.
//	             suspended-policies suspended-bindings, and one entry of raised
//	pending      what changed since each placement was selected.
//	             placements placement-changes
//	positions    up to where the changes of each kind were announced.
//	             positions raised notices
//	deadletters  events that no stage could handle.
//	             dead-letters, and one entry of positions
//	schema       the names of the keys, and the guard that every script begins
//	             with. It is imported by the others and imports none of them.
//
// Invariants:
//   - The hub is the record. Whatever is here can be rebuilt from it, so losing
//     all of Redis loses no decision.
//   - A key is named in schema/keys.go and nowhere else, and has the one hash
//     tag: all of it lives on one node of a Redis cluster.
//   - A change is one Lua script, or one command. A script does nothing where
//     Redis was not built, and its caller gets outcome.ErrNotBuilt.
//   - A script may run twice: a client sends it again where a reply was lost.
//
// A package below must not read the hub, nor decide what only pkg/core decides.
package redis
