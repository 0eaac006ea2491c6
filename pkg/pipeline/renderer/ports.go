// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// Works are what the renderer writes.
type Works interface {
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error)
	DeleteWork(ctx context.Context, w *propagation.Work) error
}

// Inputs are what the Works depend on.
type Inputs interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Bindings(ctx context.Context) ([]*propagation.Binding, error)
	Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error)
	Overrides(ctx context.Context) ([]propagation.Override, error)
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
}

// Statuses are where people read what could not be rendered.
type Statuses interface {
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Hub is the control plane's API.
type Hub interface {
	Works
	Inputs
	Statuses
}
