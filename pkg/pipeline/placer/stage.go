// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/pending"
)

// Name of the stage.
const Name = "placer"

// Stage is the placer.
type Stage struct {
	hub     Hub
	pending Pending
	remind  Remind
	now     func() time.Time
}

// New makes the stage. If remind is nil, due placements are only found by the tick.
func New(h Hub, p Pending, remind Remind, now func() time.Time) *Stage {
	if remind == nil {
		remind = func(context.Context, string, time.Duration) {}
	}
	return &Stage{hub: h, pending: p, remind: remind, now: now}
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle records which objects changed, or updates one placement's snapshots. It is
// safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.Ping:
		return s.tick(ctx, e)
	case events.PlacementTouched:
		d, err := events.Decode(e)
		if err != nil {
			return nil, outcome.Terminal(err)
		}
		if d.Template != nil { // the object changed where no source watches
			return nil, s.note(ctx, *d.Template)
		}
		return s.place(ctx, e, d.Placement)
	}
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	if name, ok := hub.PlacementKeyOf(o.TemplateKey); ok {
		return s.place(ctx, e, name)
	}
	if snapshot, ok := snapshotOf(o.TemplateKey); ok {
		return s.meddled(ctx, e, snapshot)
	}
	return nil, s.note(ctx, o.TemplateKey)
}

// snapshotOf returns the name of the snapshot, of either kind, that an event names.
func snapshotOf(key propagation.TemplateKey) (string, bool) {
	if name, ok := hub.ResourceSnapshotKeyOf(key); ok {
		return name, true
	}
	return hub.PolicySnapshotKeyOf(key)
}

// meddled emits placement.touched for the placement of a snapshot that somebody else
// wrote or deleted.
func (s *Stage) meddled(ctx context.Context, e event.Event, snapshot string) ([]event.Event, error) {
	out := events.From(Name, e)
	for _, name := range placing.PlacementsOf(snapshot) {
		_, err := s.hub.Placement(ctx, name)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return nil, fmt.Errorf("get placement %s: %w", name, err)
		}
		if err == nil {
			out.Emit(events.PlacementTouched, events.Data{Placement: name, Reason: "SnapshotChanged"})
		}
	}
	return out.Events()
}

// note records that an object changed, for each placement that may select it.
func (s *Stage) note(ctx context.Context, key propagation.TemplateKey) error {
	all, err := s.hub.Placements(ctx)
	if err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	var names []string
	for _, p := range all {
		if p.DeletionTimestamp == nil && placing.SelectorsOf(p).Concern(key) {
			names = append(names, p.Name)
		}
	}
	if err := s.pending.Note(ctx, names, key, s.now()); err != nil {
		return err
	}
	for _, name := range names {
		s.remind(ctx, name, placing.CollectFor)
	}
	return nil
}

// tick emits placement.touched for each placement that is due or being deleted, and
// forgets those that are gone.
func (s *Stage) tick(ctx context.Context, e event.Event) ([]event.Event, error) {
	all, err := s.hub.Placements(ctx)
	if err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	states, err := s.pending.States(ctx)
	if errors.Is(err, outcome.ErrNotBuilt) {
		return nil, nil // the sweeper builds it, and the next tick finds everything due
	}
	if err != nil {
		return nil, err
	}
	inside, err := s.inside(ctx, all)
	if err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	for _, p := range all {
		switch {
		case p.DeletionTimestamp != nil:
			out.Emit(events.PlacementTouched, events.Data{Placement: p.Name, Reason: "Deleting"})
		case situation(p, states[p.Name], inside).When(s.now()).Now(s.now()):
			out.Emit(events.PlacementTouched, events.Data{Placement: p.Name, Reason: "Due"})
		}
		delete(states, p.Name)
	}
	for name := range states {
		if err := s.pending.Forget(ctx, name); err != nil {
			return nil, err
		}
	}
	return out.Events()
}

// inside returns the namespaced kinds, if any placement selects a namespace.
func (s *Stage) inside(ctx context.Context, placements []*placementv1.ClusterResourcePlacement) ([]schema.GroupVersionKind, error) {
	for _, p := range placements {
		if _, namespaces := placing.SelectorsOf(p).Kinds(); namespaces {
			return s.hub.KindsInNamespaces(ctx)
		}
	}
	return nil, nil
}

// situation returns the situation of a placement with a recorded state, which has a
// snapshot.
func situation(p *placementv1.ClusterResourcePlacement, state pending.State, inside []schema.GroupVersionKind) placing.Situation {
	return placing.Situation{
		Snapshotted: true, Known: state.Known, Mark: placing.MarkOf(p, inside), Selected: placing.ParseMark(state.Selected), First: state.First, Last: state.Last,
	}
}
