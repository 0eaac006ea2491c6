// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// TemplateNow is Template, but always reads from the API server. While the kind's
// CustomResourceDefinition is being deleted, or is gone, an object that is missing or
// being deleted is outcome.ErrNotServed: it goes with its kind, and nobody deleted the
// object itself. That it is missing otherwise is a propagation.NoTemplate.
func (h *Hub) TemplateNow(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	k, err := h.templateKind(key.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	t, err := live(ctx, k, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if errors.Is(err, outcome.ErrGone) || err == nil && t.Deleting {
		defined, failed := h.defined(ctx, k.resource)
		if failed != nil {
			return nil, fmt.Errorf("get %s: %w", key, failed)
		}
		if err != nil {
			return nil, &propagation.NoTemplate{Defined: defined, Err: err}
		}
	}
	if err == nil && t.Labels[propagation.LabelBinding] != "" {
		return nil, fmt.Errorf("get %s: it is frozen content: %w", key, outcome.ErrGone)
	}
	return t, err
}

// PolicyNow is Policy, but always reads from the API server.
func (h *Hub) PolicyNow(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error) {
	k := h.policies[key.Scope]
	if k == nil {
		return nil, fmt.Errorf("get %s: no such scope: %q", key, key.Scope)
	}
	p, err := live(ctx, k, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return nil, err
	}
	return h.Resolve(p), nil
}

// BindingNow is Binding, but always reads from the API server.
func (h *Hub) BindingNow(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	k, name := h.bindingKind(key)
	return live(ctx, k, name)
}

// WorkNow is Work, but always reads from the API server.
func (h *Hub) WorkNow(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	return live(ctx, h.works[key.Form], workName(key))
}

// WorksLeave reports whether the Work's namespace or kind is being deleted, or gone. It
// always reads from the API server. As long as the deletion lasts, which waits for the
// present Works, no Work can be created there.
func (h *Hub) WorksLeave(ctx context.Context, key propagation.WorkKey) (bool, error) {
	if leaves, err := h.NamespaceLeaves(ctx, key.Namespace()); err != nil || leaves {
		return leaves, err
	}
	return h.retired(ctx, workKinds[key.Form])
}

// ClusterNow is Cluster, but always reads from the API server.
func (h *Hub) ClusterNow(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	return live(ctx, h.clusters, types.NamespacedName{Name: name})
}

func live[T any](ctx context.Context, k *kind[T], name types.NamespacedName) (value T, err error) {
	r, err := k.getLive(ctx, name)
	if err != nil {
		return value, err
	}
	return r.value, nil
}

// Identity returns what distinguishes this hub from others: the uid of its namespace
// kube-system; empty if that does not exist or may not be read.
func (h *Hub) Identity(ctx context.Context) (string, error) {
	if id := h.identity.Load(); id != nil {
		return *id, nil
	}
	t, err := h.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "kube-system"})
	if errors.Is(err, outcome.ErrGone) || apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("tell the hub from others: %w", err)
	}
	id := string(t.UID)
	h.identity.Store(&id)
	return id, nil
}
