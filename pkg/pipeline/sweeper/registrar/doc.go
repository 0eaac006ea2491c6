// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package registrar keeps the register of members: who joined, who left, who is well.
//
// Consumes: changes of Clusters and MemberClusters, and the tick.
// Promise: a cluster that joined has the namespaces of its Works and a MemberCluster;
// its condition Ready says whether it answers; of one that left, its Works go, and what
// they put there stays. Members are asked side by side, so that one that does not answer
// delays no other by more than its own time.
// Emits: cluster.changed.
//
// What it knows of a member stands on the Cluster and the MemberCluster: any replica
// goes on where another one ended.
//
// It must not decide what goes to a member.
package registrar
