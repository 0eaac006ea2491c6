// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of placements.
const GroupName = "placement.kubernetes-fleet.io"

// Kinds and resources of the group.
const (
	KindClusterResourcePlacement        = "ClusterResourcePlacement"
	KindClusterSchedulingPolicySnapshot = "ClusterSchedulingPolicySnapshot"
	KindClusterResourceSnapshot         = "ClusterResourceSnapshot"
	KindClusterResourceBinding          = "ClusterResourceBinding"
	KindClusterResourceOverride         = "ClusterResourceOverride"
	KindClusterResourceOverrideSnapshot = "ClusterResourceOverrideSnapshot"
	KindResourceOverride                = "ResourceOverride"
	KindResourceOverrideSnapshot        = "ResourceOverrideSnapshot"
	KindClusterStagedUpdateStrategy     = "ClusterStagedUpdateStrategy"
	KindClusterStagedUpdateRun          = "ClusterStagedUpdateRun"
	KindClusterApprovalRequest          = "ClusterApprovalRequest"
	KindWork                            = "Work"

	KindClusterResourcePlacementEviction         = "ClusterResourcePlacementEviction"
	KindClusterResourcePlacementDisruptionBudget = "ClusterResourcePlacementDisruptionBudget"

	ResourceClusterResourcePlacements        = "clusterresourceplacements"
	ResourceClusterSchedulingPolicySnapshots = "clusterschedulingpolicysnapshots"
	ResourceClusterResourceSnapshots         = "clusterresourcesnapshots"
	ResourceClusterResourceBindings          = "clusterresourcebindings"
	ResourceClusterResourceOverrides         = "clusterresourceoverrides"
	ResourceClusterResourceOverrideSnapshots = "clusterresourceoverridesnapshots"
	ResourceResourceOverrides                = "resourceoverrides"
	ResourceResourceOverrideSnapshots        = "resourceoverridesnapshots"
	ResourceClusterStagedUpdateStrategies    = "clusterstagedupdatestrategies"
	ResourceClusterStagedUpdateRuns          = "clusterstagedupdateruns"
	ResourceClusterApprovalRequests          = "clusterapprovalrequests"
	ResourceWorks                            = "works"

	ResourceClusterResourcePlacementEvictions         = "clusterresourceplacementevictions"
	ResourceClusterResourcePlacementDisruptionBudgets = "clusterresourceplacementdisruptionbudgets"
)

// SchemeGroupVersion is the group and version of every type in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the types of this package.
var AddToScheme = schemeBuilder.AddToScheme

// Resource qualifies a resource name with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&ClusterResourcePlacement{}, &ClusterResourcePlacementList{},
		&ClusterSchedulingPolicySnapshot{}, &ClusterSchedulingPolicySnapshotList{},
		&ClusterResourceSnapshot{}, &ClusterResourceSnapshotList{},
		&ClusterResourceBinding{}, &ClusterResourceBindingList{},
		&ClusterResourceOverride{}, &ClusterResourceOverrideList{},
		&ClusterResourceOverrideSnapshot{}, &ClusterResourceOverrideSnapshotList{},
		&ResourceOverride{}, &ResourceOverrideList{},
		&ResourceOverrideSnapshot{}, &ResourceOverrideSnapshotList{},
		&ClusterStagedUpdateStrategy{}, &ClusterStagedUpdateStrategyList{},
		&ClusterStagedUpdateRun{}, &ClusterStagedUpdateRunList{},
		&ClusterApprovalRequest{}, &ClusterApprovalRequestList{},
		&ClusterResourcePlacementEviction{}, &ClusterResourcePlacementEvictionList{},
		&ClusterResourcePlacementDisruptionBudget{}, &ClusterResourcePlacementDisruptionBudgetList{},
		&Work{}, &WorkList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
