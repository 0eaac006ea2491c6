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

// PlacementHeadsNow are the Works of placements in a member without what they say, asked
// of the API server whatever is known; none where it does not serve them.
func (h *Hub) PlacementHeadsNow(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	k := h.works[propagation.PlacementForm]
	objects := k.objects(query{namespace: propagation.PlacementForm.Namespace(cluster)})
	objects.Bare = true
	all, err := watch.List(ctx, objects, pageSize, k.record)
	if err != nil {
		err = k.explain(err, "list "+k.Kind)
		if errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) {
			return nil, nil
		}
		return nil, err
	}
	heads := make([]*propagation.Work, len(all.Objects))
	for i, r := range all.Objects {
		heads[i] = r.value
	}
	return heads, nil
}
