// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
)

// Works are what members report to.
type Works interface {
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error)
}

// Objects are what people look at.
type Objects interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error)
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	CommitTemplateStatus(ctx context.Context, t *propagation.Template, status map[string]any) (bool, error)
}

// Hub is the control plane's API.
type Hub interface {
	Works
	Objects
}

// Member is one cluster.
type Member interface {
	Observe(ctx context.Context, ref member.Ref) (*member.Observed, error)
}

// Members finds a cluster; outcome.ErrGone where it is not joined.
type Members func(ctx context.Context, cluster string) (Member, error)
