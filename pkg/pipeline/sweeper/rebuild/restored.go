// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rebuild

import (
	"context"
	"fmt"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
)

// Restored finds out whether the hub went back, as one does that is restored from a
// backup, and tells how far all rounds have come. Redis orders what it knows by the
// hub's versions, so all of it is then built anew, and nothing of it is believed
// before.
func (r *Rebuilder) Restored(ctx context.Context) (map[string]string, error) {
	// The position comes first: a version that is read later is newer, or the hub
	// went back.
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

// Back tells whether the hub went back, and nobody has said Looked since.
func (r *Rebuilder) Back(ctx context.Context) (bool, error) {
	return r.positions.Noted(ctx, claims.NoticeBack)
}

// Looked says that somebody sees to it that what members have is looked at.
func (r *Rebuilder) Looked(ctx context.Context) error {
	return r.positions.Forget(ctx, claims.NoticeBack)
}
