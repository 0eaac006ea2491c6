// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
)

// Witness is told that the hub went back, as what Redis knew in an epoch proves.
type Witness interface {
	WentBack(ctx context.Context, epoch string) error
}

// Policy reads a policy of which Redis was asked before, no older than it is known there.
//
// A watch may be late, and the API server never is: asked itself, it has what was known
// before in that version or in a newer one. Where it has an older one, it was restored
// from a backup, and what Redis knows is to be built anew: the error is an
// outcome.ErrNotBuilt then. Only what Redis knew in that epoch is given up, so that who
// comes late with the same proof does not end what was built since.
func Policy(ctx context.Context, hub ClaimHub, w Witness, key propagation.PolicyKey, known claims.Known) (*propagation.Policy, error) {
	p, err := hub.Policy(ctx, key)
	if err == nil && propagation.Version(p.ResourceVersion) < known.Version {
		p, err = hub.PolicyNow(ctx, key)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, ours(err))
	}
	if propagation.Version(p.ResourceVersion) >= known.Version {
		return p, nil
	}
	if err := w.WentBack(ctx, known.Epoch); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the hub went back: %s is at version %s, and was at %d: %w", key, p.ResourceVersion, known.Version, outcome.ErrNotBuilt)
}
