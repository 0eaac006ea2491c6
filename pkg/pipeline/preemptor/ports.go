// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package preemptor

import (
	"context"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/inputs"
)

// Hub is the control plane's API.
type Hub interface {
	inputs.ClaimHub
	CommitClaim(ctx context.Context, t *propagation.Template, c propagation.Claim, b propagation.Baseline) (*propagation.Template, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// ClaimMap is the claim map and index in Redis.
type ClaimMap interface {
	inputs.Index
	Record(ctx context.Context, t propagation.TemplateKey, c propagation.Claim, seen propagation.Sighting, revision int64) error
}
