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

// Witness is told that the hub was restored from a backup, as shown by what Redis
// recorded in an epoch.
type Witness interface {
	WentBack(ctx context.Context, epoch string) error
}

// Policy reads a policy at least as new as it is known to Redis, which was read before.
//
// A watch may lag behind, but the API server itself has every version that was seen
// before, or a newer one. If it has an older one, it was restored from a backup, and
// what Redis knows has to be rebuilt: then the error is an outcome.ErrNotBuilt. Only
// what Redis recorded in that epoch is dropped, so that somebody who comes later with
// the same proof does not drop what was rebuilt since.
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
