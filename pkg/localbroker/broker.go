// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	duckv1 "knative.dev/eventing/pkg/apis/duck/v1"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

// ErrClosed says that the broker takes no more events.
var ErrClosed = errors.New("broker closed")

// Options of a Broker. The zero value of a field means its default.
type Options struct {
	// Runner takes events through the stages.
	Runner function.Runner
	// Delivery holds for Triggers that have none, as that of a Broker object
	// does. Default: no retry.
	Delivery *duckv1.DeliverySpec
	// Capacity of each queue: from so many entries on, sources wait. Default
	// 100,000.
	Capacity int
	// DeadLetters is how many are kept; the oldest go first. Default 10,000.
	DeadLetters int
	// Bulk is how many bulk events (events.Bulk) run at once, in all stages together:
	// other events never compete with more than these at the API servers. Default four for
	// each processor. While somebody waits for an event (events.Single), an eighth of that
	// starts.
	Bulk int
	// Grace is how long running events may take when Run ends. Default 15 s.
	Grace time.Duration
}

// Broker routes events to stages. Its methods may be called at any time, by any
// number of goroutines; until Run is called events wait.
type Broker struct {
	opts   Options
	routes atomic.Pointer[routes] // made of queues; never changed in place

	mu       sync.Mutex
	stages   map[string]function.Stage
	queues   map[string]*queue // by name of the Trigger
	dead     deadLetters
	busy     int             // entries that are queued or run
	retrying int             // entries that wait for a retry
	bulk     int             // entries that give way and run
	pressing int             // entries for which these make room
	wake     chan struct{}   // closed at the next change, where somebody waits for one
	ctx      context.Context // of handlers; nil until Run
	closing  bool            // sources are turned away
	stopped  bool            // nothing starts any more
	end      chan struct{}   // tells Run to end
	running  sync.WaitGroup
}

// New makes a broker without any Trigger.
func New(o Options) *Broker {
	if o.Capacity == 0 {
		o.Capacity = 100_000
	}
	if o.DeadLetters == 0 {
		o.DeadLetters = 10_000
	}
	if o.Bulk == 0 {
		o.Bulk = 4 * runtime.GOMAXPROCS(0)
	}
	if o.Grace == 0 {
		o.Grace = 15 * time.Second
	}
	b := &Broker{
		opts:   o,
		stages: map[string]function.Stage{},
		queues: map[string]*queue{},
		dead:   deadLetters{limit: o.DeadLetters, byKey: map[string]*letter{}},
		end:    make(chan struct{}),
	}
	b.reroute()
	return b
}

// Register makes s the subscriber that Triggers name s.Name(). A Trigger whose
// stage is not registered takes no events, like one on Knative whose subscriber
// does not exist.
func (b *Broker) Register(s function.Stage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stages[s.Name()] = s
}

// AddTrigger adds t, or changes the Trigger of the same name, whose queue stays.
func (b *Broker) AddTrigger(t eventingv1.Trigger) error {
	if err := t.Validate(context.Background()); err != nil {
		return fmt.Errorf("trigger %s: %w", t.Name, err)
	}
	spec, err := specOf(t, b.opts.Delivery)
	if err != nil {
		return fmt.Errorf("trigger %s: %w", t.Name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[t.Name]
	if q == nil {
		q = newQueue(t.Name)
		b.queues[t.Name] = q
	}
	q.spec.Store(&spec)
	b.reroute()
	b.dispatch(q)
	return nil
}

// RemoveTrigger removes a Trigger with all that waits in its queue and its dead
// letters. What runs is finished, and its replies are taken.
func (b *Broker) RemoveTrigger(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[name]
	if q == nil {
		return
	}
	delete(b.queues, name)
	b.reroute()
	queued, retrying := q.clear()
	b.busy -= queued
	b.retrying -= retrying
	b.dead.forgetTrigger(name)
	b.changed()
}

// routes are the queues by the cluster that their Triggers demand, and under ""
// those that demand none. So an event is not compared with the Triggers of a
// thousand members that it cannot be meant for.
type routes map[string][]*queue

func (b *Broker) reroute() {
	r := routes{}
	for _, name := range slices.Sorted(maps.Keys(b.queues)) {
		q := b.queues[name]
		cluster := q.spec.Load().cluster
		r[cluster] = append(r[cluster], q)
	}
	b.routes.Store(&r)
}

// Publish takes an event from a source. It returns nil once the event is
// accepted; before that it waits while a queue that took the event is full. A
// stage must not call it: what it has to say it returns.
func (b *Broker) Publish(ctx context.Context, e event.Event) error {
	if err := e.Validate(); err != nil {
		return fmt.Errorf("publish: malformed event: %w", err)
	}
	h := hintOf(e)
	takers := b.match(e)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing || b.stopped {
		return ErrClosed
	}
	for _, q := range takers {
		b.put(q, h)
	}
	// The event is accepted, so that the end of ctx only ends the waiting.
	_ = b.waitFor(ctx, func() bool {
		return b.stopped || !slices.ContainsFunc(takers, func(q *queue) bool { return len(q.waiting) >= b.opts.Capacity })
	})
	return nil
}

// match lists the queues whose Triggers take e.
func (b *Broker) match(e event.Event) []*queue {
	r := *b.routes.Load()
	candidates := r[""]
	if cluster, _ := e.Extensions()[events.ExtCluster].(string); cluster != "" {
		candidates = slices.Concat(candidates, r[cluster])
	}
	var takers []*queue
	for _, q := range candidates {
		if ok, _ := passes(q.spec.Load().filter, e); ok {
			takers = append(takers, q)
		}
	}
	return takers
}

// put queues h in q, in the place of what tells the same and still waits.
func (b *Broker) put(q *queue, h hint) {
	stage := b.stages[q.spec.Load().subscriber]
	if q.removed || stage == nil {
		return
	}
	h.lane = function.LaneOf(stage, h.event)
	e, arrival := q.put(h)
	b.press(e)
	switch arrival {
	case added:
		b.busy++
	case woken:
		b.busy++
		b.retrying--
	}
	b.dispatch(q)
}

// waitFor waits until ok. The lock is held when it is called, when ok is, and
// when it returns, and not meanwhile.
func (b *Broker) waitFor(ctx context.Context, ok func() bool) error {
	for !ok() {
		if b.wake == nil {
			b.wake = make(chan struct{})
		}
		wake := b.wake
		b.mu.Unlock()
		select {
		case <-wake:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// changed wakes all that wait.
func (b *Broker) changed() {
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}

// Idle waits until nothing is queued, runs, or waits for a retry.
func (b *Broker) Idle(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waitFor(ctx, func() bool { return b.busy == 0 && b.retrying == 0 })
}

// Quiet waits until nothing is queued or runs, whatever waits for a retry.
func (b *Broker) Quiet(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waitFor(ctx, func() bool { return b.busy == 0 })
}
