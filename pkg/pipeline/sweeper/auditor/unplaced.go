// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// seat is the place of a placement in a member.
type seat struct{ placement, cluster string }

// unplaced announces the bindings of placements that lack a Work in a cluster that is
// joined, and the Works of placements that lack a binding: what one was to be told was
// lost. It has to be so in two sweeps, between which nobody wrote the binding. It
// returns all Works of placements.
func (a *Auditor) unplaced(ctx context.Context, t *tick.Tick, books Books) ([]*propagation.Work, error) {
	if a.placements == nil {
		return nil, nil
	}
	bindings, err := a.placements.PlacementBindings(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the bindings of placements: %w", err)
	}
	works, err := a.placements.PlacementWorks(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the Works of placements: %w", err)
	}
	made := map[seat][]*propagation.Work{}
	for _, w := range works {
		if at := (seat{w.Placement(), w.Key.Cluster}); at.placement != "" {
			made[at] = append(made[at], w)
		}
	}
	var suspects []tick.Suspect[seat]
	add := func(at seat, version string) {
		if _, joined := books.Ready[at.cluster]; joined {
			suspects = append(suspects, tick.Suspect[seat]{Entry: sweeping.Entry[seat]{Lane: at.cluster, ID: at.placement, Value: at}, Version: version})
		}
	}
	for _, b := range bindings {
		at := seat{b.Labels[placementv1.LabelParentCRP], b.Spec.TargetCluster}
		if sweeping.Unplaced(b, made[at]) {
			add(at, b.Name+" "+b.ResourceVersion)
		}
		delete(made, at)
	}
	for at, left := range made {
		if !left[0].Deleting {
			add(at, "no binding")
		}
	}
	for _, at := range tick.Twice(t, roundUnplaced, suspects, tick.Batch) {
		t.Out.Emit(events.PlacementBound, events.Data{Placement: at.placement, Cluster: at.cluster, Reason: "Unplaced"})
	}
	return works, nil
}
