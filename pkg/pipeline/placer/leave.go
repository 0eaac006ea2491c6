// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/outcome"
)

// leave handles a placement that is being deleted. When its bindings, and with them its
// objects in members, are gone, which the scheduler's finalizer waits for, it deletes
// the snapshots and then removes the finalizers.
func (s *Stage) leave(ctx context.Context, e event.Event, p *placementv1.ClusterResourcePlacement) ([]event.Event, error) {
	bindings, err := s.hub.PlacementBindingsOf(ctx, p.Name)
	if err := outcome.UnlessGone(ctx, err, s.hub.PlacementsRetired); err != nil {
		return nil, fmt.Errorf("list the bindings of placement %s: %w", p.Name, err)
	}
	out := events.From(Name, e)
	out.Emit(events.PlacementSnapshotted, events.Data{Placement: p.Name, Reason: "Deleting"})
	if len(bindings) > 0 || !slices.Contains(p.Finalizers, placementv1.FinalizerPlacement) {
		return out.Events()
	}
	if err := s.dropAll(ctx, p); err != nil {
		return nil, err
	}
	if err := s.pending.Forget(ctx, p.Name); err != nil {
		return nil, err
	}
	next := p.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return slices.Contains(finalizers, f) })
	if _, err := s.hub.CommitPlacement(ctx, p, next); err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("let placement %s go: %w", p.Name, err)
	}
	return out.Events()
}

// dropAll deletes the snapshots of a placement that is being deleted.
func (s *Stage) dropAll(ctx context.Context, p *placementv1.ClusterResourcePlacement) error {
	snapshots, err := s.hub.ResourceSnapshotsOf(ctx, p.Name)
	if err := outcome.UnlessGone(ctx, err, s.hub.PlacementsRetired); err != nil {
		return fmt.Errorf("list the snapshots of placement %s: %w", p.Name, err)
	}
	for _, o := range snapshots {
		if err := s.hub.DeleteResourceSnapshot(ctx, o); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", o.Name, err)
		}
	}
	policies, err := s.hub.PolicySnapshotsOf(ctx, p.Name)
	if err := outcome.UnlessGone(ctx, err, s.hub.PlacementsRetired); err != nil {
		return fmt.Errorf("list the policies of placement %s: %w", p.Name, err)
	}
	for _, o := range policies {
		if err := s.hub.DeletePolicySnapshot(ctx, o); err != nil {
			return fmt.Errorf("delete policy snapshot %s: %w", o.Name, err)
		}
	}
	return nil
}
