// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package source is the folder of what turns a change in an API server into an event.
// It has no code of its own; this is how a change becomes one.
//
// In the process that runs all stages, pkg/hub and pkg/member watch:
//
//  1. Where a kind is served says discovery, a group and version at a time.
//  2. A loop of watch lists the kind, watches it, and continues from where it was after
//     the connection or the API server failed.
//  3. The stores of pkg/hub and pkg/member take what the loop tells, and let through what
//     somebody else did: what the process wrote itself it knows. They differ in what they
//     have to know of an object (docs/decisions/0049).
//  4. pkg/standalone makes an event of it, of what somebody changed in a member at most one
//     a second (pacing), and has the kinds that are watched follow the
//     policies on the hub, and what is applied in members.
//
// On Knative, where each stage is a process of its own:
//
//  1. Sources that run Knative's receive adapter watch the hub and the members. Those of
//     members and of the hub's own kinds run adapter, with the token that the broker may
//     want.
//  2. knative has them follow the kinds that policies select.
//  3. They tell of nothing while they start, and drop what they cannot send. So the rooms
//     replay and members of pkg/pipeline/sweeper ask with each tick for what happened since
//     a position in Redis (watch's Since, by way of pkg/hub and pkg/member), and tell that.
//
// The receiver of an event learns a key, and reads the rest: pkg/localbroker and the functions
// let an event that waits stand for all that tell the same (pkg/coalesce).
package source
