// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// Inputs are what the gate depends on.
type Inputs interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	// LiveTemplate is that as the API server has it at this moment: outcome.ErrGone
	// proves that there is none.
	LiveTemplate(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
	Features(ctx context.Context) (propagation.Features, error)
	// Kinds is what is known of kinds.
	Kinds(ctx context.Context) (kinds.Table, error)
}

// Bindings are what the gate writes.
type Bindings interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	DeleteBinding(ctx context.Context, b *propagation.Binding) error
}

// Revisions are frozen contents.
type Revisions interface {
	Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error)
	CreateRevision(ctx context.Context, b *propagation.Binding, r *propagation.Revision) error
	Revisions(ctx context.Context, b *propagation.Binding) ([]*propagation.Revision, error)
	DeleteRevision(ctx context.Context, b *propagation.Binding, name string) error
}

// Recorder tells people.
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
