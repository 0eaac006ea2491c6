// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/auditor"
	"sluice.dev/pkg/pipeline/sweeper/due"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/replay"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// roomFor is how long a room may take in a sweep, so that others get their time before
// the event's deadline. What it does not reach is left to the next sweep.
const roomFor = 20 * time.Second

// sweep calls each room, unless another sweep is under way. A failure for one object
// does not end the sweep for others: it is reported, and the next sweep tries again.
func (s *Stage) sweep(ctx context.Context, e event.Event) ([]event.Event, error) {
	if !s.sweeping.TryLock() {
		if e.Type() == events.Ping {
			return nil, nil
		}
		return nil, outcome.After(time.Second, errors.New("another sweep is under way"))
	}
	defer s.sweeping.Unlock()
	if err := s.rebuilder.Rebuild(ctx); err != nil {
		return nil, err
	}
	at, err := s.rebuilder.Restored(ctx)
	if errors.Is(err, outcome.ErrNotServed) { // Clusters
		err = errors.Join(err, s.registrar.Retire(ctx))
	}
	if err != nil {
		return nil, err
	}
	t := tick.New(e, at, s.now())
	if e.Type() == events.GatesChanged {
		due.Switched(t)
	}
	back, err := s.rebuilder.Back(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := s.register(ctx, t, back)
	if err != nil && !outcome.IsPartly(err) {
		return nil, err
	}
	failed := errors.Join(err, s.rooms(ctx, t, ready), s.save(ctx, t, back), s.unheard(ctx, t))
	if ctx.Err() != nil {
		return nil, failed
	}
	announced, err := t.Out.Events()
	if err != nil {
		return nil, err
	}
	return announced, outcome.Partly(failed)
}

// register returns which members are registered, and which of these are ready. back:
// the hub was restored.
func (s *Stage) register(ctx context.Context, t *tick.Tick, back bool) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, roomFor)
	defer cancel()
	return s.registrar.Sweep(ctx, t, back)
}

// rooms calls the other rooms, which look at bindings and Works.
func (s *Stage) rooms(ctx context.Context, t *tick.Tick, ready map[string]bool) error {
	looked, err := page.Open(ctx, t, s.hub, s.pageSize)
	if err != nil {
		return err
	}
	works := sync.OnceValues(func() ([]*propagation.Work, error) { return s.hub.Works(ctx) })
	var held map[propagation.Claim]string
	var failed error
	for _, room := range []func(context.Context) error{
		func(ctx context.Context) (err error) {
			held, err = s.removals.Sweep(ctx, looked, works, t.Out)
			return err
		},
		func(ctx context.Context) error {
			books, err := s.auditor.Open(ctx, t, looked, ready)
			if err != nil {
				looked.Done(auditor.Room) // the page is not kept for that
				return err
			}
			return s.auditor.Sweep(ctx, t, books)
		},
		func(ctx context.Context) error { return s.registrar.Left(ctx, t, ready, works) },
		func(ctx context.Context) error { return s.due.Sweep(ctx, t, looked) },
		func(ctx context.Context) error { return s.count.Sweep(ctx, t, looked, held) },
		func(ctx context.Context) error { return s.rules.Sweep(ctx, t, looked.All) },
		func(ctx context.Context) error { return s.elsewhere(ctx, t, ready) },
	} {
		failed = errors.Join(failed, bounded(ctx, room))
	}
	return errors.Join(failed, looked.Turn(t, auditor.Room, due.Room))
}

// elsewhere finds what changed in the members and no source reported.
func (s *Stage) elsewhere(ctx context.Context, t *tick.Tick, ready map[string]bool) error {
	if s.members == nil {
		return nil
	}
	return s.members.Sweep(ctx, t, ready, replay.Followed(t))
}

// save stores how far the sweep came. That includes the members whose Works are to be
// checked because the hub was restored, so this is then marked as handled.
func (s *Stage) save(ctx context.Context, t *tick.Tick, back bool) error {
	if err := t.Save(ctx, s.positions); err != nil || !back {
		return err
	}
	return s.rebuilder.Looked(ctx)
}

// bounded calls a room with its timeout.
func bounded(ctx context.Context, room func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, roomFor)
	defer cancel()
	return room(ctx)
}

// unheard finds what no source reported, and resends dead letters. It comes last, and
// has the time that is left; the next sweep continues.
func (s *Stage) unheard(ctx context.Context, t *tick.Tick) error {
	var failed error
	if s.letters != nil {
		failed = bounded(ctx, s.letters.Resend)
	}
	if s.replay != nil {
		changed, err := s.replay.Find(ctx)
		if changed {
			replay.Again(t.Out)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
