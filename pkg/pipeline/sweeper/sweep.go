// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
)

const (
	// batch bounds what one sweep announces of each sort; the next goes on.
	batch = 200
	// overdue Works are announced in one sweep at most: somebody waits to hear of
	// each, and a word costs one write.
	overdue = 500
	// failing is how many Works a second are announced whose members have said no:
	// each costs a request or two, for as long as nobody mends it.
	failing = 25
	// leastFailing are announced by each sweep, however soon it follows another.
	leastFailing = 10
)

// sweep looks at everything once, unless that is being done. What fails for one
// thing ends the sweep for no other: it is told of, and found again by the next.
func (s *Stage) sweep(ctx context.Context, e event.Event) ([]event.Event, error) {
	if !s.sweeping.TryLock() {
		if e.Type() == events.Ping {
			return nil, nil
		}
		return nil, outcome.After(time.Second, errors.New("another sweep is under way"))
	}
	defer s.sweeping.Unlock()
	if err := s.Rebuild(ctx); err != nil {
		return nil, err
	}
	at, err := s.restored(ctx)
	if err != nil {
		return nil, err
	}
	out, r := events.From(Name, e), newRounds(at)
	ready, unprobed, err := s.probeAll(ctx, s.back.Load(), r, out)
	if err != nil {
		return nil, err
	}
	s.back.Store(false)
	bindings, err := s.hub.Bindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	s.strays(bindings, r, out)
	works := sync.OnceValues(func() ([]*propagation.Work, error) { return s.hub.Works(ctx) })
	held, unjudged := s.removals(ctx, bindings, works, out)
	failed := errors.Join(unprobed, unjudged,
		s.unfinished(ctx, bindings, works, ready, r, out),
		s.due(ctx, bindings, r, out),
		s.count(ctx, bindings, held),
		s.unheard(ctx),
		r.save(ctx, s.positions),
	)
	if ctx.Err() != nil {
		return nil, failed
	}
	announced, err := out.Events()
	if err != nil {
		return nil, err
	}
	return announced, outcome.Partly(failed)
}

// unheard finds what no source told of, and hands over the dead letters.
func (s *Stage) unheard(ctx context.Context) error {
	if s.missed == nil {
		return nil
	}
	return errors.Join(s.missed.resend(ctx), s.find(ctx, false))
}

// lister lists all Works, once a sweep.
type lister func() ([]*propagation.Work, error)

// unfinished announces what is not rendered, the Works that ready members do not
// have as they say, and those whose binding is gone. A cluster that left has none.
func (s *Stage) unfinished(ctx context.Context, bindings []*propagation.Binding, list lister, ready map[string]bool, r *rounds, out *events.Batch) error {
	works, err := list()
	if err != nil {
		return fmt.Errorf("list Works: %w", err)
	}
	placed, err := s.hub.PlacementWorks(ctx)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) {
		return fmt.Errorf("list the Works of placements: %w", err)
	}
	s.unrendered(bindings, works, ready, r, out)
	failed := errors.Join(s.unplaced(ctx, placed, ready, r, out), s.protection(ctx, bindings, works, r, out), s.unkept(ctx, bindings, works, ready, r, out))
	bound := make(map[propagation.BindingKey]bool, len(bindings))
	for _, b := range bindings {
		bound[b.Key] = !b.AwaitsTemplate()
	}
	f := found{ready: ready, bound: bound, now: s.now()}
	left := map[string][]*propagation.Work{}
	for _, w := range slices.Concat(works, placed) {
		d, err := aboutWork(w)
		if err != nil {
			continue // not ours
		}
		if _, joined := ready[w.Key.Cluster]; joined {
			f.sort(w, d)
		} else {
			left[w.Key.Cluster] = append(left[w.Key.Cluster], w)
		}
	}
	f.announce(r, s.patience(), out)
	for cluster, works := range left {
		failed = errors.Join(failed, s.letAll(ctx, cluster, works))
	}
	return failed
}

// patience is how many failing Works are announced: by the time since the last
// sweep.
func (s *Stage) patience() int {
	now := s.now()
	since := now.Sub(s.swept)
	s.swept = now
	if since > batch/failing*time.Second {
		return batch
	}
	return max(int(since*failing/time.Second), leastFailing)
}

// announcement is an event that a sweep may emit.
type announcement struct {
	eventType string
	data      events.Data
}

// found are the Works of which something has to be said.
type found struct {
	ready map[string]bool
	bound map[propagation.BindingKey]bool
	now   time.Time

	underway, overdue, failing, all []sweeping.Entry[announcement]
}

// sort finds out what has to be said of a Work.
func (f *found) sort(w *propagation.Work, d events.Data) {
	ready := f.ready[w.Key.Cluster]
	add := func(to *[]sweeping.Entry[announcement], eventType string, d events.Data) {
		*to = append(*to, sweeping.Entry[announcement]{Lane: w.Key.Cluster, ID: w.Key.Name, Value: announcement{eventType, d}})
	}
	switch {
	case w.Deleting && ready:
		d.Reason = events.ReasonUnfinished
		add(&f.underway, events.WorkRemoved, d)
		if d.Placement == "" && !f.bound[w.Binding()] {
			add(&f.underway, events.BindingRemoved, events.Data{Template: d.Template, Binding: d.Binding, Reason: "BindingGone"})
		}
	case w.Deleting:
	case d.Placement == "" && !f.bound[w.Binding()]:
		add(&f.underway, events.BindingRemoved, events.Data{Template: d.Template, Binding: d.Binding, Reason: "BindingGone"})
	case ready:
		again := d
		again.Reason = events.ReasonRevisited
		add(&f.all, events.WorkRendered, again)
		switch sweeping.StateOf(w, f.now) {
		case sweeping.Underway:
			add(&f.underway, events.WorkRendered, d)
		case sweeping.Overdue:
			d.Reason = events.ReasonUnfinished
			add(&f.overdue, events.WorkRendered, d)
		case sweeping.Failing:
			d.Reason = events.ReasonUnfinished
			add(&f.failing, events.WorkRendered, d)
		case sweeping.Finished:
		}
	}
}

// announce announces as much of each sort as one sweep may.
func (f *found) announce(r *rounds, patience int, out *events.Batch) {
	revisited, due := sweeping.Revisit(f.all, overdue, r.due())
	r.set(roundRevisit, due)
	for _, a := range slices.Concat(
		revisited,
		pick(r, roundOverdue, f.overdue, overdue),
		pick(r, roundWorks, f.underway, batch),
		pick(r, roundFailing, f.failing, patience),
	) {
		out.Emit(a.eventType, a.data)
	}
}

// strays announces the bindings that follow others which do not say so, and those
// that nobody needs. It has to be so in two sweeps, between which nobody wrote the
// binding: a parent's binding that is missing is made anew in between.
func (s *Stage) strays(bindings []*propagation.Binding, r *rounds, out *events.Batch) {
	byKey := make(map[propagation.BindingKey]*propagation.Binding, len(bindings))
	for _, b := range bindings {
		byKey[b.Key] = b
	}
	before := s.stray
	s.stray = map[propagation.BindingKey]string{}
	var found []sweeping.Entry[*propagation.Binding]
	for _, b := range bindings {
		stray := dependencies.Stray(b, func(key propagation.BindingKey) *propagation.Binding { return byKey[key] })
		if len(stray) == 0 && dependencies.Needed(b) {
			continue
		}
		s.stray[b.Key] = b.ResourceVersion
		if version, again := before[b.Key]; again && version == b.ResourceVersion {
			found = append(found, sweeping.Entry[*propagation.Binding]{Lane: laneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b})
		}
	}
	for _, b := range pick(r, roundStrays, found, batch) {
		template := b.Template()
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, Reason: events.ReasonFollowsNobody})
	}
}
