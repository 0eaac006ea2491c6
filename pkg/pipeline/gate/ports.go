// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/inputs"
)

// Inputs reads what the gate's decision depends on.
type Inputs interface {
	inputs.GateHub
	// LiveTemplate reads the template from the API server: outcome.ErrGone proves that
	// it does not exist.
	LiveTemplate(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
}

// Bindings reads and writes bindings.
type Bindings interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	DeleteBinding(ctx context.Context, b *propagation.Binding) error
}

// Revisions reads and writes frozen content.
type Revisions interface {
	Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error)
	CreateRevision(ctx context.Context, b *propagation.Binding, r *propagation.Revision) error
	Revisions(ctx context.Context, b *propagation.Binding) ([]*propagation.Revision, error)
	DeleteRevision(ctx context.Context, b *propagation.Binding, name string) error
}

// Recorder records Kubernetes events.
type Recorder interface {
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Hub is the control plane's API.
type Hub interface {
	Inputs
	Bindings
	Revisions
	Recorder
}
