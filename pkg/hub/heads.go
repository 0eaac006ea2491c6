// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/watch"
)

// PlacementHeads returns the Works of placements in a member; none where the API server
// does not serve them. If this process watches Works they are complete; otherwise only
// their metadata is read.
func (h *Hub) PlacementHeads(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	k, namespace := h.works[propagation.PlacementForm], propagation.PlacementForm.Namespace(cluster)
	if found, doubtful, known := k.told(ctx).list(namespace); known {
		return k.resolve(ctx, found, doubtful)
	}
	objects := k.objects(query{namespace: namespace})
	objects.Bare = true
	all, err := watch.List(ctx, objects, pageSize, k.record)
	if err != nil {
		err = k.explain(err, "list "+k.Kind)
		if errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) {
			return nil, nil
		}
		return nil, err
	}
	return k.resolve(ctx, all.Objects, nil)
}
