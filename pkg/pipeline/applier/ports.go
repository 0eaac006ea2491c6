// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/suspension"
)

// Hub is the control plane's API.
type Hub interface {
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error)
	ReleaseWork(ctx context.Context, w *propagation.Work) error
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Namespace(ctx context.Context, name string) (labels map[string]string, err error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Brakes are the suspension flags in Redis.
type Brakes interface {
	Check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string) (suspension.Verdict, error)
}

// Member is one cluster.
type Member interface {
	Apply(ctx context.Context, w *propagation.Work, ordinal int, manifest map[string]any, opt member.Options) (member.Applied, error)
	Delete(ctx context.Context, ref member.Ref, workName string) (deleted bool, err error)
	EnsureNamespace(ctx context.Context, name string) error
}

// Members finds a cluster; outcome.ErrGone where it is not joined.
type Members func(ctx context.Context, cluster string) (Member, error)
