// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/evicting"
	"sluice.dev/pkg/core/scheduling/placement"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// asked handles the change of an eviction: its placement is looked at, if it has not been
// decided.
func (s *Stage) asked(ctx context.Context, e event.Event) ([]event.Event, error) {
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	name, is := hub.EvictionKeyOf(o.TemplateKey)
	if !is {
		return nil, nil
	}
	eviction, err := s.placements.Eviction(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		forget(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get eviction %s: %w", name, err)
	}
	if evicting.Over(eviction) {
		return nil, nil
	}
	return s.place(ctx, e, eviction.Spec.PlacementName)
}

// evictions reads what evictions of the placement depend on; none: nothing was asked for.
func (s *Stage) evictions(ctx context.Context, name string, p *placementv1.ClusterResourcePlacement, policy *placementv1.ClusterSchedulingPolicySnapshot) (in evicting.Input, err error) {
	all, err := s.placements.Evictions(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return in, nil
	}
	if err != nil {
		return in, fmt.Errorf("list evictions: %w", err)
	}
	in = evicting.Input{Placement: p, Policy: policy, Evictions: evicting.Of(name, all), Now: s.now()}
	if len(in.Evictions) == 0 {
		return in, nil
	}
	if p == nil {
		if _, err = s.placements.PlacementNow(ctx, name); err == nil {
			return in, outcome.Conflict(fmt.Errorf("placement %s was made a moment ago", name))
		}
		if errors.Is(err, outcome.ErrGone) {
			return in, nil
		}
		return in, fmt.Errorf("get placement %s: %w", name, err)
	}
	if in.Bindings, err = s.placements.PlacementBindingsOf(ctx, name); err != nil {
		return in, fmt.Errorf("list bindings of %s: %w", name, err)
	}
	in.Budget, err = s.placements.DisruptionBudget(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		in.Budget, err = nil, nil
	}
	if err != nil { // that budgets are not served proves nothing about what was in them
		return in, fmt.Errorf("get the disruption budget of %s: %w", name, err)
	}
	return in, nil
}

// evict carries out the evictions of the placement, whose members are picked as the status
// of the policy's snapshot says, and returns what is decided then; nil: as before.
func (s *Stage) evict(ctx context.Context, name string, p *placementv1.ClusterResourcePlacement, policy *placementv1.ClusterSchedulingPolicySnapshot) (*placement.Decision, error) {
	in, err := s.evictions(ctx, name, p, policy)
	if err != nil || len(in.Evictions) == 0 {
		return nil, err
	}
	verdicts := evicting.Decide(in)
	var next *placement.Decision
	again := map[string]bool{}
	if given := evicting.Evicted(verdicts); len(given) > 0 {
		d, err := s.pick(ctx, policy, name, given)
		if err != nil {
			return nil, err
		}
		if _, err := s.decided(ctx, policy, d); err != nil {
			return nil, err
		}
		next = &d
		for _, c := range d.Picked {
			again[c.ClusterName] = true
		}
	}
	for _, v := range verdicts {
		status := v.Status(again[v.Eviction.Spec.ClusterName], s.now())
		if _, err := s.placements.CommitEvictionStatus(ctx, v.Eviction, status); err != nil {
			return nil, fmt.Errorf("commit the status of eviction %s: %w", v.Eviction.Name, err)
		}
		evicted(v)
	}
	return next, nil
}
