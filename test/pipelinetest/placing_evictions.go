// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// Evictions, and the budgets that limit them.

// PutEviction lets somebody make an eviction. It tells whether there was none of that name.
func (h *Hub) PutEviction(name, placement, cluster string) bool {
	h.mu.Lock()
	there, made := h.placing.evictions.live[name] != nil, metav1.NewTime(h.second())
	h.mu.Unlock()
	if there {
		return false
	}
	return put(h, h.placing.evictions, &placementv1.ClusterResourcePlacementEviction{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made},
		Spec:       placementv1.PlacementEvictionSpec{PlacementName: placement, ClusterName: cluster},
	})
}

// PutDisruptionBudget lets somebody make the budget of a placement, or have it say
// something else.
func (h *Hub) PutDisruptionBudget(placement string, spec placementv1.PlacementDisruptionBudgetSpec) bool {
	return put(h, h.placing.disruptionBudgets, &placementv1.ClusterResourcePlacementDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: placement}, Spec: spec})
}

// LiveEvictions are all evictions. For tests.
func (h *Hub) LiveEvictions() []*placementv1.ClusterResourcePlacementEviction {
	return h.placing.evictions.rows()
}

// Eviction answers as pkg/hub does.
func (h *Hub) Eviction(ctx context.Context, name string) (*placementv1.ClusterResourcePlacementEviction, error) {
	return h.placing.evictions.one(ctx, name)
}

// Evictions answers as pkg/hub does.
func (h *Hub) Evictions(ctx context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	return h.placing.evictions.of(ctx, "", "")
}

// CommitEvictionStatus answers as pkg/hub does.
func (h *Hub) CommitEvictionStatus(ctx context.Context, e *placementv1.ClusterResourcePlacementEviction, status placementv1.PlacementEvictionStatus) (*placementv1.ClusterResourcePlacementEviction, error) {
	next := e.DeepCopy()
	next.Status = status
	return h.placing.evictions.status(ctx, e, next)
}

// DisruptionBudget answers as pkg/hub does.
func (h *Hub) DisruptionBudget(ctx context.Context, placement string) (*placementv1.ClusterResourcePlacementDisruptionBudget, error) {
	return h.placing.disruptionBudgets.one(ctx, placement)
}
