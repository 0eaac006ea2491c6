// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// Reminder sends placement.touched in time where ticks are rare. It only keeps its
// reminders in memory: those that are lost with the process are found by the next tick.
type Reminder struct {
	publish func(ctx context.Context, out []event.Event) error

	mu   sync.Mutex
	next map[string]time.Time
}

// NewReminder returns a Reminder that sends its events with publish.
func NewReminder(publish func(ctx context.Context, out []event.Event) error) *Reminder {
	return &Reminder{publish: publish, next: map[string]time.Time{}}
}

// Remind sends placement.touched for the placement after a while, unless it is going to
// be sent earlier.
func (r *Reminder) Remind(ctx context.Context, placement string, in time.Duration) {
	at := time.Now().Add(in)
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, ok := r.next[placement]; ok && !next.After(at) {
		return
	}
	r.next[placement] = at
	time.AfterFunc(in, func() { r.touch(context.WithoutCancel(ctx), placement, at) })
}

func (r *Reminder) touch(ctx context.Context, placement string, at time.Time) {
	r.mu.Lock()
	if r.next[placement].Equal(at) {
		delete(r.next, placement)
	}
	r.mu.Unlock()
	cause := event.New()
	cause.SetID(placement + " " + at.UTC().Format(time.RFC3339Nano))
	e, err := events.New(Name, cause, events.PlacementTouched, events.Data{Placement: placement, Reason: "Due"})
	if err == nil {
		_ = r.publish(ctx, []event.Event{e}) // the tick makes up for it
	}
}
