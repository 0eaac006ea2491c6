// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// TemplateNow is the template as it is, whatever a watch told.
func (h *Hub) TemplateNow(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	return h.LiveTemplate(ctx, key)
}

// PolicyNow is the policy as it is, whatever a watch told.
func (h *Hub) PolicyNow(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error) {
	p, err := live(ctx, h, h.policies, key.ID(), key.String())
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resolved(p), nil
}

// BindingNow is the binding as it is, whatever a watch told.
func (h *Hub) BindingNow(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	return live(ctx, h, h.bindings, key.ID(), key.String())
}

// WorkNow is the Work as it is, whatever a watch told.
func (h *Hub) WorkNow(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	return live(ctx, h, h.works, key.String(), key.String())
}

// ClusterNow is the member as it is, whatever a watch told.
func (h *Hub) ClusterNow(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	return live(ctx, h, h.clusters, name, "cluster "+name)
}

func live[T any](ctx context.Context, h *Hub, t *table[T], id, about string) (value T, err error) {
	if err := h.ask(ctx, "get", about); err != nil {
		return value, err
	}
	if err := h.unserved("get", about); err != nil {
		return value, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := t.live[id]
	if r == nil {
		return value, fmt.Errorf("get %s: %w", about, outcome.ErrGone)
	}
	return r.value, nil
}

// Identity is what the hub is told from others by.
func (h *Hub) Identity(context.Context) (string, error) { return "hub", nil }
