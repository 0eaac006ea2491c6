// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Placements reads what is rolled out.
type Placements interface {
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	// PlacementNow reads from the API server.
	PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	CommitPlacement(ctx context.Context, old, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error)
	PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	// ResourceSnapshotsOf returns snapshots without their content.
	ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error)
}

// Bindings reads and writes the bindings, which say which member gets what.
type Bindings interface {
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	CommitPlacementBinding(ctx context.Context, old, next *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error)
	DeletePlacementBinding(ctx context.Context, b *placementv1.ClusterResourceBinding) error
}

// Works reads what placements have in members.
type Works interface {
	WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error)
	// PlacementWorksUndefined reports whether the definition of their kind is gone, and with
	// it all of them.
	PlacementWorksUndefined(ctx context.Context) (bool, error)
}

// OverridesWithout reads the overrides without a namespace, and writes their snapshots.
type OverridesWithout interface {
	ClusterOverride(ctx context.Context, name string) (*placementv1.ClusterResourceOverride, error)
	ClusterOverrides(ctx context.Context) ([]*placementv1.ClusterResourceOverride, error)
	// ClusterOverridesDefined returns when their kind was defined; outcome.ErrNotServed: the
	// definition is being deleted, or gone.
	ClusterOverridesDefined(ctx context.Context) (time.Time, error)
	ClusterOverrideSnapshots(ctx context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error)
	ClusterOverrideSnapshotsOf(ctx context.Context, override string) ([]*placementv1.ClusterResourceOverrideSnapshot, error)
	CommitClusterOverrideSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error)
	DeleteClusterOverrideSnapshot(ctx context.Context, s *placementv1.ClusterResourceOverrideSnapshot) error
}

// OverridesWithin reads the overrides with a namespace, and writes their snapshots.
type OverridesWithin interface {
	NamespaceOverride(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverride, error)
	NamespaceOverrides(ctx context.Context) ([]*placementv1.ResourceOverride, error)
	// NamespaceOverridesDefined is ClusterOverridesDefined of these.
	NamespaceOverridesDefined(ctx context.Context) (time.Time, error)
	NamespaceOverrideSnapshots(ctx context.Context) ([]*placementv1.ResourceOverrideSnapshot, error)
	NamespaceOverrideSnapshotsOf(ctx context.Context, override types.NamespacedName) ([]*placementv1.ResourceOverrideSnapshot, error)
	CommitNamespaceOverrideSnapshot(ctx context.Context, old, next *placementv1.ResourceOverrideSnapshot) (*placementv1.ResourceOverrideSnapshot, error)
	DeleteNamespaceOverrideSnapshot(ctx context.Context, s *placementv1.ResourceOverrideSnapshot) error
}

// Selection reads what overrides are matched against.
type Selection interface {
	ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error)
	// Fleet are the members with what their Clusters say now.
	Fleet(ctx context.Context) ([]*memberclusterv1.MemberCluster, error)
}

// Runs reads and writes the runs that carry out what is External.
type Runs interface {
	UpdateStrategy(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateStrategy, error)
	UpdateRun(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateRun, error)
	UpdateRuns(ctx context.Context) ([]*placementv1.ClusterStagedUpdateRun, error)
	CommitUpdateRunStatus(ctx context.Context, r *placementv1.ClusterStagedUpdateRun, status placementv1.UpdateRunStatus) (*placementv1.ClusterStagedUpdateRun, error)
	ApprovalRequest(ctx context.Context, name string) (*placementv1.ClusterApprovalRequest, error)
	ApprovalRequests(ctx context.Context) ([]*placementv1.ClusterApprovalRequest, error)
	CreateApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) (*placementv1.ClusterApprovalRequest, error)
	CommitApprovalRequestStatus(ctx context.Context, r *placementv1.ClusterApprovalRequest, status placementv1.ApprovalRequestStatus) (*placementv1.ClusterApprovalRequest, error)
	DeleteApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) error
}

// Hub is the control plane's API.
type Hub interface {
	Placements
	Bindings
	Works
	OverridesWithout
	OverridesWithin
	Selection
	Runs
}
