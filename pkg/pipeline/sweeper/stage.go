// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// Name of the stage.
const Name = "sweeper"

// Stage is the sweeper.
type Stage struct {
	hub   Hub
	index Index
	probe Probe
	// positions is how far sweeps have come.
	positions Positions
	now       func() time.Time
	gates     gates
	// sweeping is locked by the one sweep at a time.
	sweeping sync.Mutex
	counting counting
	// swept is when the last sweep here began.
	swept time.Time
	// lacking are the bindings that the last sweep found without a Work, in their
	// versions then.
	lacking map[propagation.BindingKey]string
	// vacant are the seats of placements that the last sweep found without a Work, or
	// without a binding.
	vacant map[seat]string
	// stray are the bindings that the last sweep found to follow nobody, in their
	// versions then.
	stray map[propagation.BindingKey]string
	// missed is nil where this process watches the hub.
	missed *Missed
	mirror *mirror
	// rights is nil where this process may do everything.
	rights Rights
	// back says that the hub went back, and that no sweep has looked yet at what
	// members have.
	back atomic.Bool
}

// New makes the stage.
func New(h Hub, i Index, at Positions, p Probe, now func() time.Time) *Stage {
	return &Stage{hub: h, index: i, positions: at, probe: p, now: now}
}

// Checking makes the stage say on policies which rights their kinds lack.
func (s *Stage) Checking(r Rights) *Stage {
	s.rights = r
	return s
}

// Name is that of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle announces what is not where it has to be. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.GatesChanged:
		s.gates.switched()
		return s.sweep(ctx, e)
	case events.IndexLost:
		// Many tell of one loss. The first has it mended.
		if built, err := s.index.Built(ctx); built || err != nil {
			return nil, err
		}
		return s.sweep(ctx, e)
	case events.Ping:
		return s.sweep(ctx, e)
	}
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	if isSource(o.TemplateKey) {
		return nil, s.restarted(ctx)
	}
	if ours, err := s.ours(ctx, e, o.TemplateKey); ours || err != nil {
		return nil, err
	}
	if _, ok := hub.PolicyKeyOf(o.TemplateKey); ok {
		// Where the hub went back, Redis took the policy's brake for an old one.
		if _, err := s.restored(ctx); err != nil {
			return nil, err
		}
		return nil, s.policy(ctx)
	}
	if cluster, ok := hub.ClusterOf(o.TemplateKey); ok {
		return s.cluster(ctx, e, cluster)
	}
	if member, ok := hub.MemberOf(o.TemplateKey); ok {
		return s.relabelled(ctx, e, member)
	}
	if key, ok := hub.BindingKeyOf(o.TemplateKey); ok {
		return s.binding(ctx, e, key)
	}
	if key, ok := hub.WorkKeyOf(o.TemplateKey); ok {
		return s.work(ctx, e, key)
	}
	return nil, outcome.Terminal(fmt.Errorf("%w: the sweeper watches no %s", events.ErrMalformed, o.Kind))
}

// binding announces the template of a binding that somebody else wrote or
// deleted: the gate puts right what has to be, and takes away what nobody needs.
func (s *Stage) binding(ctx context.Context, e event.Event, key propagation.BindingKey) ([]event.Event, error) {
	out := events.From(Name, e)
	b, err := s.hub.Binding(ctx, key)
	switch {
	case err == nil:
		template := b.Template()
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "BindingChanged"})
		return out.Events()
	case !errors.Is(err, outcome.ErrGone):
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	works, err := s.hub.WorksOf(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("list the Works of %s: %w", key, err)
	}
	for _, w := range works {
		template, err := w.Template()
		if err != nil {
			continue // not ours
		}
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "BindingDeleted"})
		break
	}
	return out.Events()
}

// work announces a Work that somebody else wrote or deleted.
func (s *Stage) work(ctx context.Context, e event.Event, key propagation.WorkKey) ([]event.Event, error) {
	w, err := s.hub.Work(ctx, key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil // its finalizer had the applier see it off
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	out := events.From(Name, e)
	d, err := aboutWork(w)
	if err != nil {
		return nil, nil // not ours
	}
	d.Reason = "WorkChanged"
	switch {
	case w.Deleting:
		out.Emit(events.WorkRemoved, d)
	case d.Placement != "":
		out.Emit(events.PlacementBound, events.Data{Placement: d.Placement, Cluster: d.Cluster, Reason: d.Reason})
	default:
		out.Emit(events.BindingScheduled, events.Data{Template: d.Template, Binding: d.Binding, Reason: d.Reason})
	}
	return out.Events()
}

// aboutWork is the payload about a Work.
func aboutWork(w *propagation.Work) (events.Data, error) {
	template, err := w.Template()
	if err != nil {
		return events.Data{}, err
	}
	d := events.Data{Template: &template, Work: &w.Key, WorkVersion: w.ResourceVersion, Placement: w.Placement(), Cluster: w.Key.Cluster}
	if d.Placement == "" {
		d.Binding = new(w.Binding())
	}
	return d, nil
}
