// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rebuild

import (
	"context"
	"fmt"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
)

// Restored checks whether the hub was restored from a backup, and returns the positions
// of all rounds. Redis orders what it knows by the hub's versions, so after that all of
// it is rebuilt, and not used before.
func (r *Rebuilder) Restored(ctx context.Context) (map[string]string, error) {
	// The position is read first: a version that is read later is newer, unless the hub
	// was restored.
	at, err := r.positions.Load(ctx)
	if err != nil {
		return nil, err
	}
	now, err := r.hub.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the hub for its version: %w", err)
	}
	known := propagation.Version(at[claims.PositionHub])
	if now == known {
		return at, nil
	}
	if now < known {
		if err := r.positions.Note(ctx, claims.NoticeBack); err != nil {
			return nil, err
		}
		if err := r.Start(ctx); err != nil {
			return nil, err
		}
		if at, err = r.positions.Load(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.positions.Raise(ctx, claims.PositionHub, now); err != nil {
		return nil, err
	}
	return at, nil
}

// Back reports whether the hub was restored and Looked has not been called since.
func (r *Rebuilder) Back(ctx context.Context) (bool, error) {
	return r.positions.Noted(ctx, claims.NoticeBack)
}

// Looked records that what members have is being checked.
func (r *Rebuilder) Looked(ctx context.Context) error {
	return r.positions.Forget(ctx, claims.NoticeBack)
}
