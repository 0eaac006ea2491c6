// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"context"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/redis/suspension"
)

// Hub is the control plane's API.
type Hub interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	// TemplateNow reads the template from the API server.
	TemplateNow(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	BindingsReferringTo(ctx context.Context, key propagation.TemplateKey) ([]*propagation.Binding, error)
	BindingsRequiredBy(ctx context.Context, parent propagation.BindingKey) ([]*propagation.Binding, error)
	// Kinds returns what is known of kinds; for a binding's template, what its owner said when
	// it was bound.
	Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error)
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	DeleteBinding(ctx context.Context, b *propagation.Binding) error
	Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
}

// Suspensions stores the suspensions of policies and bindings in Redis.
type Suspensions interface {
	SetBinding(ctx context.Context, key propagation.BindingKey, f suspension.Suspension) error
}
