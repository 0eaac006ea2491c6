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
// the snapshots and then removes the finalizer.
func (s *Stage) leave(ctx context.Context, e event.Event, p *placementv1.ClusterResourcePlacement) ([]event.Event, error) {
	bindings, err := s.hub.PlacementBindingsOf(ctx, p.Name)
	if err != nil {
		return nil, fmt.Errorf("list the bindings of placement %s: %w", p.Name, err)
	}
	out := events.From(Name, e)
	out.Emit(events.PlacementSnapshotted, events.Data{Placement: p.Name, Reason: "Deleting"})
	if len(bindings) > 0 || !slices.Contains(p.Finalizers, placementv1.FinalizerPlacement) {
		return out.Events()
	}
	have, err := s.stored(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.drop(ctx, have, have.Parts); err != nil {
		return nil, err
	}
	if err := s.unforge(ctx, p, have); err != nil {
		return nil, err
	}
	policies, err := s.hub.PolicySnapshotsOf(ctx, p.Name)
	if err != nil {
		return nil, fmt.Errorf("list the policies of placement %s: %w", p.Name, err)
	}
	for _, o := range policies {
		if err := s.hub.DeletePolicySnapshot(ctx, o); err != nil {
			return nil, fmt.Errorf("delete policy snapshot %s: %w", o.Name, err)
		}
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
