// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/carrying"
	"sluice.dev/pkg/pipeline/proving"
)

// Works reads and writes Works.
type Works interface {
	WorksNamed(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error)
	CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error)
	CommitWorkResults(ctx context.Context, w *propagation.Work, status placementv1.WorkStatus) (*propagation.Work, error)
	DeleteWork(ctx context.Context, w *propagation.Work) error
	ReleaseWork(ctx context.Context, w *propagation.Work) error
	EnsureNamespace(ctx context.Context, name string) error
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
	CommitContents(ctx context.Context, w *propagation.Work, old *propagation.KeptContents, contents propagation.Contents) error
	DropContents(ctx context.Context, key propagation.WorkKey, old *propagation.KeptContents) error
}

// Inputs reads what the Works depend on.
type Inputs interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	// ListBindings returns the bindings of a namespace, or all for the empty one.
	ListBindings(ctx context.Context, namespace string, limit int64, cont string) (page []*propagation.Binding, next string, err error)
	Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error)
	Overrides(ctx context.Context, namespace string) ([]propagation.Override, error)
	// Namespace returns the labels of a namespace; outcome.ErrGone: it does not exist.
	Namespace(ctx context.Context, name string) (map[string]string, error)
	// OverridesDefined returns when the kind of overrides of that scope was defined;
	// outcome.ErrNotServed: the definition is being deleted, or gone.
	OverridesDefined(ctx context.Context, scope propagation.Scope) (time.Time, error)
	// NamespaceLeaves reports whether a namespace is being deleted, or gone, at this
	// moment.
	NamespaceLeaves(ctx context.Context, name string) (bool, error)
	// Kinds returns what is known of kinds; for a binding's template, what its owner said when
	// it was bound.
	Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error)
}

// Statuses writes what could not be rendered, for people.
type Statuses interface {
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
}

// Placements reads what the Works of a placement depend on.
type Placements interface {
	carrying.Hub
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	CommitPlacementBinding(ctx context.Context, old, next *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error)
	CommitPlacementBindingStatus(ctx context.Context, b *placementv1.ClusterResourceBinding, status placementv1.ResourceBindingStatus) (*placementv1.ClusterResourceBinding, error)
	PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	WorksOfPlacementOn(ctx context.Context, placement, cluster string) ([]*propagation.Work, error)
	// PolicySnapshotsUndefined and PlacementWorksUndefined report whether the definition of
	// the kind is gone, and with it all objects.
	PolicySnapshotsUndefined(ctx context.Context) (bool, error)
	PlacementWorksUndefined(ctx context.Context) (bool, error)
}

// Hub is the control plane's API.
type Hub interface {
	Works
	Placements
	Inputs
	Statuses
	proving.Hub
}
