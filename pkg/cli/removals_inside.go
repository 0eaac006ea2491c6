// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// inside returns the removals that are held because objects of others would be deleted,
// too.
func inside(ctx context.Context, h *hub.Hub) ([]explaining.Removal, error) {
	works, err := h.Works(ctx)
	if err != nil {
		return nil, err
	}
	placed, err := h.PlacementWorks(ctx)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) && !errors.Is(err, outcome.ErrGone) {
		return nil, err
	}
	return explaining.Inside(append(works, placed...)), nil
}

// approveInside approves those that are still held for the same reason as when they
// were seen.
func approveInside(ctx context.Context, h *hub.Hub, seen []explaining.Removal) error {
	for _, r := range seen {
		if r.Inside == nil {
			continue
		}
		err := again(func() error {
			now, err := h.Work(ctx, *r.Inside)
			if errors.Is(err, outcome.ErrGone) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, is := range explaining.Inside([]*propagation.Work{now}) {
				if is.Template == r.Template && is.Why == r.Why {
					_, err = h.CommitWork(ctx, now, now.Approving(applying.Approval(r.Why)))
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
