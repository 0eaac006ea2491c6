// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/claims"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/suspension"
)

// pageSize of lists.
const pageSize = 500

// Start fills Redis from the hub, whatever is in it. It is for the one process,
// which hears nothing of what goes while it does not run.
func (s *Stage) Start(ctx context.Context) error {
	if err := s.index.Reset(ctx); err != nil {
		return fmt.Errorf("forget the index: %w", err)
	}
	return s.Rebuild(ctx)
}

// Rebuild fills Redis from the hub where it lost its data.
func (s *Stage) Rebuild(ctx context.Context) error {
	built, err := s.index.Built(ctx)
	if err != nil {
		return fmt.Errorf("ask for the index: %w", err)
	}
	if built {
		return nil
	}
	if err := s.index.Rebuild(ctx, s.load); err != nil {
		return fmt.Errorf("rebuild the index: %w", err)
	}
	return nil
}

// load indexes every policy with its brake, and as claimed or waiting every
// template of the kinds that they select, that have bindings, or that this
// process watches: nobody would announce these to a policy that comes.
func (s *Stage) load(ctx context.Context, r *claims.Rebuild) error {
	policies, err := s.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	kinds := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, p := range policies {
		if err := r.Suspend(ctx, p.Key, suspension.FlagOf(p)); err != nil {
			return fmt.Errorf("set the brake of %s: %w", p.Key, err)
		}
		if err := r.IndexPolicy(ctx, p, claims.SelectorsOf(p)); err != nil {
			return fmt.Errorf("index %s: %w", p.Key, err)
		}
	}
	for _, kind := range matching.Kinds(policies) {
		kinds[kind.GroupKind()] = kind
	}
	bindings, err := s.hub.Bindings(ctx)
	if err != nil {
		return fmt.Errorf("list bindings: %w", err)
	}
	more := s.hub.Watched()
	for _, b := range bindings {
		more = append(more, b.Template().GroupVersionKind())
	}
	for _, kind := range more {
		if _, known := kinds[kind.GroupKind()]; !known {
			kinds[kind.GroupKind()] = kind
		}
	}
	for _, kind := range kinds {
		if err := s.loadKind(ctx, r, kind); err != nil {
			return err
		}
	}
	return nil
}

// loadKind notes behind each page how far it came: the next rebuild goes on there.
func (s *Stage) loadKind(ctx context.Context, r *claims.Rebuild, kind schema.GroupVersionKind) error {
	cont, begun := r.At(nameOf(kind))
	for !begun || cont != "" {
		page, next, err := s.hub.ListTemplates(ctx, kind, "", pageSize, cont)
		if errors.Is(err, outcome.ErrNotServed) || apierrors.IsForbidden(err) {
			return nil // the hub does not serve it, or nobody has granted it
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for _, t := range page {
			if t.Claim.Held() {
				err = r.Record(ctx, t.Key, t.Claim, propagation.Sighting{}.Of(t))
			} else {
				err = r.Park(ctx, t.Key, t.Labels, propagation.Sighting{}.Of(t))
			}
			if err != nil {
				return fmt.Errorf("load %s: %w", t.Key, err)
			}
		}
		if err := r.Reach(ctx, nameOf(kind), next); err != nil {
			return err
		}
		begun, cont = true, next
	}
	return nil
}
