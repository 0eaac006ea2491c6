// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// seat is a placement in a member.
type seat struct{ placement, cluster string }

const (
	// seatsAtOnce is the number of placement bindings after which a sweep looks at no
	// other placement, and placementsAtOnce how many placements it looks at in any
	// case: each costs two requests.
	seatsAtOnce      = 500
	placementsAtOnce = 50
	// positionPlacements is the name under which it is stored which placement is next.
	positionPlacements = "sweep placements"
)

// seating has the bindings and Works of placements to compare.
type seating struct {
	bindings []*placementv1.ClusterResourceBinding
	works    []*propagation.Work
}

// unplaced announces the bindings of placements without a Work in a joined cluster, and
// the Works of placements without a binding: an event was lost. Two sweeps have to find
// them so, with no write to the binding in between. It returns the Works of placements
// to look at.
func (a *Auditor) unplaced(ctx context.Context, t *tick.Tick, books Books) ([]*propagation.Work, error) {
	if a.placements == nil {
		return nil, nil
	}
	look, most := a.everySeat, tick.Batch
	if a.paged {
		look, most = func(ctx context.Context) (seating, error) { return a.someSeats(ctx, t, books) }, math.MaxInt
	}
	s, err := look(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, at := range tick.Twice(t, roundUnplaced, s.suspects(books), most) {
		t.Out.Emit(events.PlacementBound, events.Data{Placement: at.placement, Cluster: at.cluster, Reason: "Unplaced"})
	}
	if a.paged {
		return books.Placed, nil
	}
	return s.works, nil
}

// everySeat reads the bindings and Works of all placements.
func (a *Auditor) everySeat(ctx context.Context) (s seating, err error) {
	if s.bindings, err = a.placements.PlacementBindings(ctx); err != nil {
		return s, fmt.Errorf("list the bindings of placements: %w", err)
	}
	if s.works, err = a.placements.PlacementWorks(ctx); err != nil {
		return s, fmt.Errorf("list the Works of placements: %w", err)
	}
	return s, nil
}

// someSeats reads those of a few placements, which take turns of two sweeps each, and
// the Works of placements that are gone in the members that the sweep looks at.
func (a *Auditor) someSeats(ctx context.Context, t *tick.Tick, books Books) (s seating, err error) {
	all, err := a.placements.Placements(ctx)
	if err != nil {
		return s, fmt.Errorf("list placements: %w", err)
	}
	there := make(map[string]bool, len(all))
	for _, p := range all {
		there[p.Name] = true
	}
	for _, w := range books.Placed {
		if !there[w.Placement()] {
			s.works = append(s.works, w)
		}
	}
	var at turn
	t.Read(positionPlacements, &at)
	names := slices.Sorted(maps.Keys(there))
	i, found := slices.BinarySearch(names, at.After)
	if found {
		i++
	}
	if i >= len(names) {
		i, at = 0, turn{}
	}
	last := ""
	for n, name := range names[i:] {
		if n == placementsAtOnce || len(s.bindings) >= seatsAtOnce {
			break
		}
		bindings, err := a.placements.PlacementBindingsOf(ctx, name)
		if err != nil {
			return s, fmt.Errorf("list the bindings of placement %s: %w", name, err)
		}
		works, err := a.placements.WorksOfPlacement(ctx, name)
		if err != nil {
			return s, fmt.Errorf("list the Works of placement %s: %w", name, err)
		}
		s.bindings, s.works, last = append(s.bindings, bindings...), append(s.works, works...), name
	}
	switch {
	case !at.Again:
		at.Again = true
	default:
		at = turn{After: last}
	}
	return s, t.Write(positionPlacements, at)
}

// placedOn returns the Works of placements in a member, if a sweep looks at some only.
func (a *Auditor) placedOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	if a.placements == nil || !a.paged {
		return nil, nil
	}
	works, err := a.placements.PlacementWorksOn(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("list the Works of placements of %s: %w", cluster, err)
	}
	return works, nil
}

// suspects returns the seats that lack something.
func (s seating) suspects(books Books) []tick.Suspect[seat] {
	made := map[seat][]*propagation.Work{}
	for _, w := range s.works {
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
	for _, b := range s.bindings {
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
	return suspects
}
