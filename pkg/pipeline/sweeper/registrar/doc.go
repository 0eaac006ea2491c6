// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package registrar handles members that join, leave or change.
//
// Consumes: changes of Clusters and MemberClusters, and the tick.
// Emits: cluster.changed.
//
// Invariants:
//   - A joined cluster has the namespaces of its Works and a MemberCluster, and its
//     condition Ready says whether it answers. The Works of a cluster that is unjoined
//     are deleted, and their objects stay in it.
//   - A cluster that joins again under its name before anybody noticed that it left keeps
//     its Works, which are checked once: nobody listened to it meanwhile.
//   - Members are asked in parallel, so that one that does not answer delays others by
//     no more than its own timeout.
//   - What is known of a member is stored on the Cluster and the MemberCluster, so that
//     any replica continues.
//
// It must not decide what goes to a member.
package registrar
