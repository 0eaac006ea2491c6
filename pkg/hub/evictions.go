// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Eviction is the ClusterResourcePlacementEviction of that name.
func (h *Hub) Eviction(ctx context.Context, name string) (*placementv1.ClusterResourcePlacementEviction, error) {
	return h.placing.evictions.get(ctx, types.NamespacedName{Name: name})
}

// Evictions are those of all placements.
func (h *Hub) Evictions(ctx context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	return h.placing.evictions.list(ctx, "")
}

// CommitEvictionStatus writes the status of the eviction as it was read.
func (h *Hub) CommitEvictionStatus(ctx context.Context, e *placementv1.ClusterResourcePlacementEviction, status placementv1.PlacementEvictionStatus) (*placementv1.ClusterResourcePlacementEviction, error) {
	return putStatus(ctx, h.placing.evictions, e, e.Status, status)
}

// DisruptionBudget is the ClusterResourcePlacementDisruptionBudget of that name, read live.
func (h *Hub) DisruptionBudget(ctx context.Context, name string) (*placementv1.ClusterResourcePlacementDisruptionBudget, error) {
	return h.placing.disruptionBudgets.get(ctx, types.NamespacedName{Name: name})
}

// EvictionKeyOf is the name of the eviction that an event names.
func EvictionKeyOf(k propagation.TemplateKey) (string, bool) { return keyOf(k, evictionKind) }
