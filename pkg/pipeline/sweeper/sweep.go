// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/claims"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/suspension"
)

const (
	// batch bounds what one sweep announces of each sort; the next goes on.
	batch = 200
	// A Work that has not settled is said so, which costs a write more than to
	// wait for it, when it is older than settleFor: pressing of them a sweep, so
	// that a busy member is not made busier.
	settleFor = 5 * time.Second
	pressing  = 20
	// pageSize of lists.
	pageSize = 500
)

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
	kinds := map[schema.GroupVersionKind]bool{}
	for _, p := range policies {
		if err := r.Suspend(ctx, p.Key, suspension.FlagOf(p)); err != nil {
			return fmt.Errorf("set the brake of %s: %w", p.Key, err)
		}
		if err := r.IndexPolicy(ctx, p, claims.SelectorsOf(p)); err != nil {
			return fmt.Errorf("index %s: %w", p.Key, err)
		}
		for _, sel := range p.Spec.ResourceSelectors {
			kinds[schema.FromAPIVersionAndKind(sel.APIVersion, sel.Kind)] = true
		}
	}
	bindings, err := s.hub.Bindings(ctx)
	if err != nil {
		return fmt.Errorf("list bindings: %w", err)
	}
	for _, b := range bindings {
		kinds[b.Template().GroupVersionKind()] = true
	}
	for _, kind := range s.hub.Watched() {
		kinds[kind] = true
	}
	for kind := range kinds {
		if err := s.loadKind(ctx, r, kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) loadKind(ctx context.Context, r *claims.Rebuild, kind schema.GroupVersionKind) error {
	for cont := ""; ; {
		page, next, err := s.hub.ListTemplates(ctx, kind, "", pageSize, cont)
		if errors.Is(err, outcome.ErrGone) || apierrors.IsForbidden(err) {
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
		if next == "" {
			return nil
		}
		cont = next
	}
}

// unfinished announces what is not rendered, the Works that ready members do not
// have as they say, and those whose binding is gone. A cluster that left has none.
func (s *Stage) unfinished(ctx context.Context, bindings []*propagation.Binding, ready map[string]bool, out *events.Batch) error {
	works, err := s.hub.Works(ctx)
	if err != nil {
		return fmt.Errorf("list Works: %w", err)
	}
	s.unrendered(bindings, works, ready, out)
	bound := make(map[propagation.BindingKey]bool, len(bindings))
	for _, b := range bindings {
		bound[b.Key] = !b.AwaitsTemplate()
	}
	announced, pressed, now := 0, 0, s.now()
	for _, w := range works {
		d, err := aboutWork(w)
		if err != nil {
			continue // not ours
		}
		if _, joined := ready[w.Key.Cluster]; !joined {
			if err := s.let(ctx, w); err != nil {
				return err
			}
			continue
		}
		switch {
		case w.Deleting && ready[w.Key.Cluster]:
			out.Emit(events.WorkRemoved, d)
		case w.Deleting:
			continue
		case !bound[w.Binding()]:
			out.Emit(events.BindingRemoved, events.Data{Template: d.Template, Binding: d.Binding, Reason: "BindingGone"})
		case ready[w.Key.Cluster] && !reporting.Finished(w):
			if pressed < pressing && now.Sub(w.Created) > settleFor {
				d.Reason = events.ReasonUnfinished
				pressed++
			}
			out.Emit(events.WorkRendered, d)
		default:
			continue
		}
		if announced++; announced == batch {
			return nil
		}
	}
	return nil
}

// strays announces the bindings that follow others which do not say so.
func strays(bindings []*propagation.Binding, out *events.Batch) {
	byKey := make(map[propagation.BindingKey]*propagation.Binding, len(bindings))
	for _, b := range bindings {
		byKey[b.Key] = b
	}
	announced := 0
	for _, b := range bindings {
		stray := dependencies.Stray(b, func(key propagation.BindingKey) *propagation.Binding { return byKey[key] })
		if len(stray) == 0 {
			continue
		}
		template := b.Template()
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, Reason: "FollowsNobody"})
		if announced++; announced == batch {
			return
		}
	}
}
