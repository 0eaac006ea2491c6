// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
)

// Works reads Works and writes their status.
type Works interface {
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error)
}

// Objects reads and writes bindings and templates.
type Objects interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	// Clusters returns the clusters that are joined.
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	// Identity returns a string that identifies the hub.
	Identity(ctx context.Context) (string, error)
	// Kinds returns what is known of kinds; for a binding's template, what its owner said when
	// it was bound.
	Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error)
	CommitTemplateStatus(ctx context.Context, t *propagation.Template, status map[string]any) (bool, error)
	// ScaleTemplate sets the number of replicas that the template asks for.
	ScaleTemplate(ctx context.Context, t *propagation.Template, replicas int32) error
}

// Placements reads what the status of a placement depends on, and writes that status.
type Placements interface {
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	CommitPlacementStatus(ctx context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus) (*placementv1.ClusterResourcePlacement, error)
	PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error)
	ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	CommitPlacementBindingStatus(ctx context.Context, b *placementv1.ClusterResourceBinding, status placementv1.ResourceBindingStatus) (*placementv1.ClusterResourceBinding, error)
	WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error)
	PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	RecordOnce(ctx context.Context, about hub.About, occasion, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
}

// Hub is the control plane's API.
type Hub interface {
	Works
	Placements
	Objects
}

// Member is one cluster.
type Member interface {
	Observe(ctx context.Context, ref member.Ref) (*applying.Observed, error)
}

// Members returns the client for a cluster; outcome.ErrGone if it is not joined.
type Members func(ctx context.Context, cluster string) (Member, error)
