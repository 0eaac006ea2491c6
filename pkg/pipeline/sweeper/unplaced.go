// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
)

// seat is the place of a placement in a member.
type seat struct{ placement, cluster string }

// unplaced announces the bindings of placements that lack a Work in a cluster that is
// joined, and the Works of placements that lack a binding: what one was to be told was
// lost. It has to be so in two sweeps, between which nobody wrote the binding.
func (s *Stage) unplaced(ctx context.Context, works []*propagation.Work, joined map[string]bool, r *rounds, out *events.Batch) error {
	if s.mirror == nil {
		return nil
	}
	bindings, err := s.mirror.members.PlacementBindings(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the bindings of placements: %w", err)
	}
	made := map[seat][]*propagation.Work{}
	for _, w := range works {
		if at := (seat{w.Placement(), w.Key.Cluster}); at.placement != "" {
			made[at] = append(made[at], w)
		}
	}
	now := map[seat]string{}
	for _, b := range bindings {
		at := seat{b.Labels[placementv1.LabelParentCRP], b.Spec.TargetCluster}
		if _, known := joined[at.cluster]; known && sweeping.Unplaced(b, made[at]) {
			now[at] = b.Name + " " + b.ResourceVersion
		}
		delete(made, at)
	}
	for at, left := range made {
		if _, known := joined[at.cluster]; known && !left[0].Deleting {
			now[at] = "no binding"
		}
	}
	before := s.vacant
	s.vacant = now
	var found []sweeping.Entry[seat]
	for at, why := range now {
		if before[at] == why {
			found = append(found, sweeping.Entry[seat]{Lane: at.cluster, ID: at.placement, Value: at})
		}
	}
	for _, at := range pick(r, roundUnplaced, found, batch) {
		out.Emit(events.PlacementBound, events.Data{Placement: at.placement, Cluster: at.cluster, Reason: "Unplaced"})
	}
	return nil
}
