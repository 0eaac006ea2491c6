// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"context"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
)

// Hub is the control plane's API.
type Hub interface {
	inputs.ClaimHub
	CommitClaim(ctx context.Context, t *propagation.Template, c propagation.Claim, b propagation.Baseline) (*propagation.Template, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
	History
}

// History stores the specs that policies had.
type History interface {
	PolicyRevision(ctx context.Context, p *propagation.Policy) (*propagation.PolicyRevision, error)
	PolicyRevisions(ctx context.Context, p *propagation.Policy) ([]*propagation.PolicyRevision, error)
	KeepPolicyRevision(ctx context.Context, p *propagation.Policy, r *propagation.PolicyRevision) error
	DropPolicyRevision(ctx context.Context, r *propagation.PolicyRevision) error
}

// ClaimMap is the claim map and index in Redis, from templates to policies.
type ClaimMap interface {
	inputs.Index
	Record(ctx context.Context, t propagation.TemplateKey, c propagation.Claim, seen propagation.Sighting, revision int64) error
	Park(ctx context.Context, t propagation.TemplateKey, labels map[string]string, seen propagation.Sighting, revision int64) error
	Drop(ctx context.Context, t propagation.TemplateKey) error
}

// Policies is the other direction of the index, from policies to templates.
type Policies interface {
	Known(ctx context.Context, key propagation.PolicyKey) (claims.Known, error)
	IndexPolicy(ctx context.Context, p *propagation.Policy, selectors []claims.Selector) (since uint64, changed bool, err error)
	RemovePolicy(ctx context.Context, key propagation.PolicyKey) error
	Held(ctx context.Context, key propagation.PolicyKey, cursor string, n int) ([]propagation.TemplateKey, string, error)
	Waiting(ctx context.Context, selectors []claims.Selector, match func(propagation.TemplateKey, map[string]string) bool, cursor string, n int) ([]propagation.TemplateKey, string, error)
}

// Suspensions stores the suspensions of policies in Redis.
type Suspensions interface {
	SetPolicy(ctx context.Context, key propagation.PolicyKey, f suspension.Suspension) error
}
