// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/config"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

// unsteady are two stages that fail at random: a gate and the scheduler that
// gets what it says. overlaps counts how often the scheduler was given one of
// the templates while it still had it.
func unsteady(t *testing.T, templates int) (gate, scheduler *fake, overlaps *atomic.Int32) {
	running := make([]atomic.Int32, templates)
	overlaps = new(atomic.Int32)
	gate = &fake{name: "gate", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		if rand.N(5) == 0 {
			return nil, errOops
		}
		return []event.Event{tell(t, events.BindingActivated, nameOf(e))}, nil
	}}
	scheduler = &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		i, err := strconv.Atoi(nameOf(e))
		if err != nil {
			t.Error(err)
		}
		if running[i].Add(1) > 1 {
			overlaps.Add(1)
		}
		defer running[i].Add(-1)
		time.Sleep(time.Duration(rand.N(100)) * time.Microsecond)
		if rand.N(10) == 0 {
			panic("boom")
		}
		return nil, nil
	}}
	return gate, scheduler, overlaps
}

// TestUnderLoad lets many sources publish about few templates, while stages
// fail and Triggers come and go.
func TestUnderLoad(t *testing.T) {
	const sources, each, templates = 8, 400, 20
	gate, scheduler, overlaps := unsteady(t, templates)
	b := New(Options{Delivery: delivery(50), Capacity: 10})
	b.opts.Delivery.BackoffDelay = nil
	b.Register(gate)
	b.Register(scheduler)
	for _, tr := range append(onActivated, trigger("gate", events.TemplateClaimed)) {
		if err := b.AddTrigger(tr); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(function.WithLogger(t.Context(), slog.New(slog.DiscardHandler)))
	ended := make(chan error)
	go func() { ended <- b.Run(ctx) }()

	var wg sync.WaitGroup
	for range sources {
		wg.Go(func() {
			for range each {
				if err := b.Publish(ctx, tell(t, events.TemplateClaimed, fmt.Sprint(rand.N(templates)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			if err := b.AddTrigger(trigger("scheduler-extra", "x")); err != nil {
				t.Error(err)
			}
			b.RemoveTrigger("scheduler-extra")
			b.Redeliver(DeadLetter.Transient)
		}
	})
	wg.Wait()
	if err := b.Idle(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stats := b.Stats()
	diff(t, "events of one key at once", int32(0), overlaps.Load())
	diff(t, "every event handled or superseded", uint64(sources*each), stats["gate"].Handled+stats["gate"].Coalesced)
	diff(t, "every reply handled or superseded", stats["gate"].Handled, stats["scheduler"].Handled+stats["scheduler"].Coalesced)
	for name, q := range b.queues {
		diff(t, name+" leaves nothing behind", []int{0, 0, 0, 0}, []int{len(q.waiting), len(q.lanes), q.ready.Len() + q.bulk.Len(), q.running})
	}
}

func TestMetricsShowEveryTrigger(t *testing.T) {
	s := &fake{name: "scheduler", handle: failing(9)}
	inWorld(t, Options{Delivery: delivery(1)}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"))
		w.idle()
		for _, line := range []string{"sluice_broker_dead_letters 1", "sluice_broker_dead_total 1", "sluice_broker_retried_total 1", "sluice_broker_queued 0", "sluice_broker_handled_total 0"} {
			if got := gather(t, w.Broker); !strings.Contains(got, line+"\n") {
				t.Errorf("metrics lack %s:\n%s", line, got)
			}
		}
	})
}

// BenchmarkBroker takes events from a source through one stage to another, with
// the Triggers of config.
func BenchmarkBroker(b *testing.B) {
	broker, err := Load(config.Eventing, Options{})
	if err != nil {
		b.Fatal(err)
	}
	t := &testing.T{}
	made := make([]event.Event, b.N)
	for i := range made {
		made[i] = tell(t, events.TemplateClaimed, fmt.Sprint("t", i))
	}
	reply := tell(t, events.BindingActivated, "t")
	broker.Register(quick{"gate", []event.Event{reply}})
	broker.Register(quick{"scheduler", nil})
	ctx, cancel := context.WithCancel(function.WithLogger(context.Background(), slog.New(slog.DiscardHandler)))
	ended := make(chan error)
	go func() { ended <- broker.Run(ctx) }()
	b.ReportAllocs()
	b.ResetTimer()
	for _, e := range made {
		if err := broker.Publish(ctx, e); err != nil {
			b.Fatal(err)
		}
	}
	if err := broker.Idle(ctx); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

type quick struct {
	name    string
	replies []event.Event
}

func (q quick) Name() string                                               { return q.name }
func (q quick) Handle(context.Context, event.Event) ([]event.Event, error) { return q.replies, nil }
