// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

// PlacementNow is Placement, asked of the API server whatever is known.
func (h *Hub) PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	r, err := h.placing.placements.getLive(ctx, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// PlacementBindingsNow is PlacementBindingsOf, asked so.
func (h *Hub) PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}

// PolicySnapshotsNow is PolicySnapshotsOf, asked so.
func (h *Hub) PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}
