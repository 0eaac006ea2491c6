// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// Bindings reads and writes bindings.
type Bindings interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	ListBindings(ctx context.Context, namespace string, limit int64, cont string) (page []*propagation.Binding, next string, err error)
	// WorksOf shows where the template of a binding is that was created again.
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
}

// Placements reads placements, and writes the status of their policy snapshots.
type Placements interface {
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	// PlacementNow reads from the API server.
	PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	CommitPolicySnapshotStatus(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) (*placementv1.ClusterSchedulingPolicySnapshot, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	// Fleet are the members with what their Clusters say now.
	Fleet(ctx context.Context) ([]*memberclusterv1.MemberCluster, error)
	Evictions
}

// Evictions reads and answers what people ask to be evicted.
type Evictions interface {
	Eviction(ctx context.Context, name string) (*placementv1.ClusterResourcePlacementEviction, error)
	Evictions(ctx context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error)
	CommitEvictionStatus(ctx context.Context, e *placementv1.ClusterResourcePlacementEviction, status placementv1.PlacementEvictionStatus) (*placementv1.ClusterResourcePlacementEviction, error)
	// DisruptionBudget reads the budget of the placement of that name.
	DisruptionBudget(ctx context.Context, placement string) (*placementv1.ClusterResourcePlacementDisruptionBudget, error)
}

// Clusters reads the clusters.
type Clusters interface {
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
}

// Gates reads the feature gates, which say which removals have a budget.
type Gates interface {
	Features(ctx context.Context) (propagation.Features, error)
}
