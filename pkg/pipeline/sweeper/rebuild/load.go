// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rebuild

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
)

// pageSize is the size of a page of a list.
const pageSize = 500

// Hub is the control plane's API.
type Hub interface {
	// Version returns the hub's present resourceVersion.
	Version(ctx context.Context) (uint64, error)
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	Bindings(ctx context.Context) ([]*propagation.Binding, error)
	// Watched returns the kinds of templates that this process watches.
	Watched() []schema.GroupVersionKind
	ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) ([]*propagation.Template, string, error)
}

// Index is Redis.
type Index interface {
	Built(ctx context.Context) (bool, error)
	Reset(ctx context.Context) error
	Rebuild(ctx context.Context, load func(ctx context.Context, r *claims.Rebuild) error) error
}

// Positions stores how far sweeps have come, and notices about the hub.
type Positions interface {
	Load(ctx context.Context) (map[string]string, error)
	Save(ctx context.Context, name, position string) error
	Raise(ctx context.Context, name string, to uint64) error
	Note(ctx context.Context, what string) error
	Noted(ctx context.Context, what string) (bool, error)
	Forget(ctx context.Context, what string) error
}

// Rebuilder fills Redis. It has no state of its own.
type Rebuilder struct {
	hub       Hub
	index     Index
	positions Positions
}

// New returns a Rebuilder.
func New(h Hub, i Index, at Positions) *Rebuilder { return &Rebuilder{hub: h, index: i, positions: at} }

// Built reports whether Redis is complete.
func (r *Rebuilder) Built(ctx context.Context) (bool, error) { return r.index.Built(ctx) }

// Start fills Redis from the hub, whatever is in it. It is for the process that runs
// all stages, which misses deletions while it does not run.
func (r *Rebuilder) Start(ctx context.Context) error {
	if err := r.index.Reset(ctx); err != nil {
		return fmt.Errorf("forget the index: %w", err)
	}
	return r.Rebuild(ctx)
}

// Rebuild fills Redis from the hub if it lost its data.
func (r *Rebuilder) Rebuild(ctx context.Context) error {
	built, err := r.index.Built(ctx)
	if err != nil {
		return fmt.Errorf("ask for the index: %w", err)
	}
	if built {
		return nil
	}
	if err := r.index.Rebuild(ctx, r.load); err != nil {
		return fmt.Errorf("rebuild the index: %w", err)
	}
	return nil
}

// load indexes every policy with its suspension. It also indexes, as claimed or
// waiting, the templates of all kinds that policies select, that have bindings, or that
// this process watches: no event would tell a new policy of them.
func (r *Rebuilder) load(ctx context.Context, into *claims.Rebuild) error {
	policies, err := r.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	kinds := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, p := range policies {
		if err := into.Suspend(ctx, p.Key, suspension.Of(p)); err != nil {
			return fmt.Errorf("set the suspension of %s: %w", p.Key, err)
		}
		if err := into.IndexPolicy(ctx, p, claims.SelectorsOf(p)); err != nil {
			return fmt.Errorf("index %s: %w", p.Key, err)
		}
	}
	for _, kind := range matching.Kinds(policies) {
		kinds[kind.GroupKind()] = kind
	}
	bindings, err := r.hub.Bindings(ctx)
	if err != nil {
		return fmt.Errorf("list bindings: %w", err)
	}
	more := r.hub.Watched()
	for _, b := range bindings {
		more = append(more, b.Template().GroupVersionKind())
	}
	for _, kind := range more {
		if _, known := kinds[kind.GroupKind()]; !known {
			kinds[kind.GroupKind()] = kind
		}
	}
	for _, kind := range kinds {
		if err := r.loadKind(ctx, into, kind); err != nil {
			return err
		}
	}
	return nil
}

// loadKind records after each page how far it came, so that the next rebuild continues
// there.
func (r *Rebuilder) loadKind(ctx context.Context, into *claims.Rebuild, kind schema.GroupVersionKind) error {
	cont, begun := into.At(partOf(kind))
	for !begun || cont != "" {
		page, next, err := r.hub.ListTemplates(ctx, kind, "", pageSize, cont)
		if errors.Is(err, outcome.ErrNotServed) || apierrors.IsForbidden(err) {
			return nil // the hub does not serve it, or Sluice has no right to it
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for _, t := range page {
			if t.Claim.Held() {
				err = into.Record(ctx, t.Key, t.Claim, propagation.Sighting{}.Of(t))
			} else {
				err = into.Park(ctx, t.Key, t.Labels, propagation.Sighting{}.Of(t))
			}
			if err != nil {
				return fmt.Errorf("load %s: %w", t.Key, err)
			}
		}
		if err := into.Reach(ctx, partOf(kind), next); err != nil {
			return err
		}
		begun, cont = true, next
	}
	return nil
}

// partOf returns the name of the part of a rebuild for the kind.
func partOf(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}
