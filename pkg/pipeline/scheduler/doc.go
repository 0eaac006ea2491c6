// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduler is the stage that chooses the clusters of a binding, with the
// replicas for each, and the members of a placement.
//
// Consumes: binding.activated (of bindings that ask for no other scheduler);
// placement.snapshotted; cluster.changed; changes of evictions.
// Reads: the binding, the clusters; the feature gates if a cluster would be left out;
// the Works of a binding that names no cluster, for it may have been created again; the
// latest policy snapshot of a placement and its bindings, evictions from it, and its
// disruption budget.
// Decides with: pkg/core/scheduling and its placement, pkg/core/budget, pkg/core/evicting.
// Commits: spec.clusters of the binding; the removals that are held, because nobody
// asked for them; the condition Scheduled if it is or was False. The first True is left
// to the reporter, which writes the status anyway. Of a placement the status of its
// policy snapshot, which is the complete decision: another stage writes the bindings
// from it. The status of evictions, once.
// Emits: binding.scheduled; on cluster.changed, binding.activated for each binding that
// would get other clusters now, and placement.snapshotted for each placement that may
// pick the cluster; placement.scheduled.
//
// Twice is safe: the same binding and clusters give the same result, and a write that
// would change nothing is not made. Members that the policy snapshot's status says are
// picked stay picked.
//
// It must not read policies: the binding has the snapshot of the policy that is in
// force.
package scheduler
