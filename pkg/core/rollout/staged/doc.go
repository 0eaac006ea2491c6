// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package staged decides how a ClusterStagedUpdateRun goes on: which members of its
// placement get the run's snapshot now, and what the others wait for.
//
// Invariants:
//   - What a run does is settled when it is initialized, and stands in its status: the
//     snapshot, the members of each stage, their order and their overrides. If anything
//     of that is no longer so, the run fails, and each member keeps what it has.
//   - Of a placement one run at a time is carried out. A run that is not initialized is
//     looked at again until it can be; one that succeeded or failed stays so.
//   - A stage begins when the one before is done, its tasks included. No more of its
//     members than maxConcurrency have been started and are not available.
//   - An approval is of the request that the run itself made, not of one that a former
//     run of the same name left.
//   - The same input gives the same plan; a plan that was carried out leads to the next.
//
// It must not write bindings: what it allows is a rollout.Run, which package rollout
// follows.
package staged
