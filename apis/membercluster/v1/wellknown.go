// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package memberclusterv1

// Finalizer holds a MemberCluster until what placements gave the member is gone.
const Finalizer = "kubernetes-fleet.io/membercluster-finalizer"

// Types of a MemberCluster's conditions. Joined and Healthy are also those of
// its agents.
const (
	// ConditionReadyToJoin: the hub has what the member needs.
	ConditionReadyToJoin = "ReadyToJoin"
	// ConditionJoined: the member takes part.
	ConditionJoined = "Joined"
	// ConditionHealthy: the member's API server answers and is healthy.
	ConditionHealthy = "Healthy"
)

// Reasons of the conditions.
const (
	ReasonReadyToJoin       = "MemberClusterReadyToJoin"
	ReasonJoined            = "MemberClusterJoined"
	ReasonNotJoinedYet      = "MemberClusterJoinStateUnknown"
	ReasonLeft              = "MemberClusterLeft"
	ReasonHealthy           = "MemberClusterHealthy"
	ReasonUnhealthy         = "MemberClusterUnhealthy"
	ReasonHealthUnknown     = "MemberClusterHealthUnknown"
	ReasonHeartbeatReceived = "InternalMemberClusterHeartbeatReceived"
)

// Names of the properties that Sluice observes. CPU and memory stand in
// ResourceUsage, and are asked for by these names, in cores and bytes.
const (
	PropertyNodeCount         = "kubernetes-fleet.io/node-count"
	PropertyKubernetesVersion = "k8s.io/k8s-version"

	PropertyCapacityCPU       = "resources.kubernetes-fleet.io/total-cpu"
	PropertyAllocatableCPU    = "resources.kubernetes-fleet.io/allocatable-cpu"
	PropertyAvailableCPU      = "resources.kubernetes-fleet.io/available-cpu"
	PropertyCapacityMemory    = "resources.kubernetes-fleet.io/total-memory"
	PropertyAllocatableMemory = "resources.kubernetes-fleet.io/allocatable-memory"
	PropertyAvailableMemory   = "resources.kubernetes-fleet.io/available-memory"
)
