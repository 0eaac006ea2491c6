// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"fmt"
	"strconv"

	"sluice.dev/pkg/core/propagation"
)

// positionHub is the position that holds the newest version of the hub that a sweep
// has seen.
const positionHub = "hub"

// restored finds out whether the hub went back, as one does that is restored from a
// backup, and tells how far all rounds have come. Redis orders what it knows by the
// hub's versions, so all of it is then built anew, and nothing of it is believed
// before.
func (s *Stage) restored(ctx context.Context) (map[string]string, error) {
	// The position comes first: a version that is read later is newer, or the hub
	// went back.
	at, err := s.positions.Load(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.hub.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the hub for its version: %w", err)
	}
	known := propagation.Version(at[positionHub])
	if now == known {
		return at, nil
	}
	if now < known {
		s.back.Store(true)
		if err := s.Start(ctx); err != nil {
			return nil, err
		}
		if at, err = s.positions.Load(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.positions.Save(ctx, positionHub, strconv.FormatUint(now, 10)); err != nil {
		return nil, err
	}
	return at, nil
}
