// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
)

// fake is a hub in memory, with records that have versions as there.
type fake struct {
	window   *Window
	template Template
	waiting  map[string]Waiting
	version  int
	down     error
	// meanwhile happens when the records were read.
	meanwhile func()
}

func (f *fake) Window(context.Context) (*Window, string, error) {
	return f.window, "it is lost", f.down
}

func (f *fake) Template(context.Context, events.Data) (Template, error) { return f.template, f.down }

func (f *fake) Hold(_ context.Context, h Waiting) error {
	h.Record = h.Data.Template.Name
	if old, ok := f.waiting[h.Record]; ok && old.Event == h.Event {
		return f.down
	}
	f.version++
	h.Version = string(rune('a' + f.version))
	f.waiting[h.Record] = h
	return f.down
}

func (f *fake) Waiting(context.Context, int64) (all []Waiting, err error) {
	for _, h := range f.waiting {
		all = append(all, h)
	}
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return all, f.down
}

func (f *fake) Forget(_ context.Context, h Waiting) error {
	if f.waiting[h.Record].Version == h.Version {
		delete(f.waiting, h.Record)
	}
	return f.down
}

var nginx = propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}

func told(t *testing.T, id, typ string) event.Event {
	t.Helper()
	cause := event.New()
	cause.SetID(id)
	e, err := events.New("detector", cause, typ, events.Data{
		Template: &nginx, Policy: &propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"},
		Previous: &propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "q"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tick() event.Event {
	e := event.New()
	e.SetID("tick")
	e.SetSource("/ping")
	e.SetType(events.Ping)
	return e
}

// world is the stage at a time of day, and what it published.
type world struct {
	*Stage
	*fake
	time      time.Time
	published []event.Event
	broken    error
	registry  *prometheus.Registry
}

// count is how many events were counted.
func (x *world) count(t *testing.T) (n float64) {
	t.Helper()
	families, err := x.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

var daytime, evening = "2026-11-23T12:00:00+01:00", "2026-11-23T20:00:00+01:00"

func newWorld(t *testing.T, now string) *world {
	t.Helper()
	w := window(t, working)
	x := &world{fake: &fake{window: &w, waiting: map[string]Waiting{}}, time: at(t, now)}
	x.registry = prometheus.NewRegistry()
	x.Stage = New(x.fake, func(_ context.Context, out []event.Event) error {
		if x.broken == nil {
			x.published = append(x.published, out...)
		}
		return x.broken
	}, func() time.Time { return x.time }, x.registry)
	return x
}

func (x *world) handle(t *testing.T, e event.Event) function.Result {
	t.Helper()
	return function.Run(function.WithLogger(t.Context(), slog.New(slog.DiscardHandler)), x.Stage, e)
}

func TestWhatPassesIsTheSameEventWithAStamp(t *testing.T) {
	x := newWorld(t, daytime)
	for _, typ := range []string{events.TemplateClaimed, events.TemplateReleased, events.TemplateWaiting, events.ClaimPreempted} {
		e := told(t, "1", typ)
		res := x.handle(t, e)
		if res.Err != nil || len(res.Events) != 1 {
			t.Fatalf("%s: %v, %d events, want one", typ, res.Err, len(res.Events))
		}
		got := res.Events[0]
		if got.Extensions()[Extension] != string(WindowOpen) {
			t.Errorf("%s: %s is %v, want %s", typ, Extension, got.Extensions()[Extension], WindowOpen)
		}
		got.SetExtension(Extension, nil)
		got.SetExtension(events.ExtTraceParent, nil)
		if diff := cmp.Diff(e.String(), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typ, diff)
		}
	}
	if len(x.waiting) != 0 {
		t.Errorf("%v wait, want nothing", x.waiting)
	}
}

func TestWhatIsHeldIsRememberedCountedAndSaid(t *testing.T) {
	x := newWorld(t, evening)
	res := x.handle(t, told(t, "1", events.TemplateClaimed))
	if res.Err != nil || res.Reason != string(OutsideWindow) || len(res.Events) != 1 || res.Events[0].Type() != Held {
		t.Fatalf("got %v, %q, %v, want one event that says it is held", res.Err, res.Reason, res.Events)
	}
	h := x.waiting["nginx"]
	if *h.Data.Template != nginx || h.Why != "OutsideWindow: until Tue, 24 Nov 2026 09:00:00 +0100" {
		t.Errorf("remembered %+v, %q", h.Data.Template, h.Why)
	}
	if n := x.count(t); n != 1 {
		t.Errorf("counted %v, want 1", n)
	}
	if again := x.handle(t, told(t, "1", events.TemplateClaimed)); again.Err != nil || x.version != 1 {
		t.Errorf("a redelivery: %v, %d writes, want one", again.Err, x.version)
	}
}

func TestDeletionsAndSuspensionsWaitForNobody(t *testing.T) {
	for name, tc := range map[string]Template{"a deletion": {Deleted: true}, "a suspension": {Suspended: true}} {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t, evening)
			x.template = tc
			if res := x.handle(t, told(t, "1", events.TemplateClaimed)); len(res.Events) != 1 || res.Events[0].Extensions()[Extension] == nil {
				t.Errorf("got %v, %v, want it to pass", res.Err, res.Events)
			}
		})
	}
}

func TestNothingIsForgottenThatIsNotAwake(t *testing.T) {
	lost := errors.New("lost")
	tests := map[string]struct {
		when       string // by default daytime
		meanwhile  string // id of an event that is held while the records are read
		broken     error
		lostWindow bool
		wantWoken  int
		wantWaits  int
		wantErr    bool
	}{
		"when the window opens what waited is woken": {wantWoken: 1},
		"while it is closed it goes on waiting":      {when: evening, wantWaits: 1},
		"while nobody can read it, too":              {lostWindow: true, wantWaits: 1},
		"what the broker does not take waits on":     {broken: lost, wantWaits: 1, wantErr: true},
		"what is held again meanwhile waits on":      {meanwhile: "2", wantWoken: 1, wantWaits: 1},
		"a redelivery meanwhile is no other":         {meanwhile: "1", wantWoken: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t, evening)
			x.handle(t, told(t, "1", events.TemplateClaimed))
			if tc.when == "" {
				tc.when = daytime
			}
			x.time, x.broken = at(t, tc.when), tc.broken
			if tc.lostWindow {
				x.window = nil
			}
			if tc.meanwhile != "" {
				x.meanwhile = func() {
					now := x.time
					x.time = at(t, evening)
					x.handle(t, told(t, tc.meanwhile, events.TemplateClaimed))
					x.time = now
				}
			}
			res := x.handle(t, tick())
			if (res.Err != nil) != tc.wantErr || len(x.published) != tc.wantWoken || len(x.waiting) != tc.wantWaits {
				t.Errorf("%v, %d woken, %d wait, want %d and %d", res.Err, len(x.published), len(x.waiting), tc.wantWoken, tc.wantWaits)
			}
			for _, e := range x.published {
				if d, err := events.Decode(e); err != nil || e.Type() != events.TemplateTouched || *d.Template != nginx {
					t.Errorf("woke with %v, %v", e, err)
				}
			}
		})
	}
}

func TestAHubThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	x := newWorld(t, daytime)
	x.down = errors.New("down")
	if res := x.handle(t, told(t, "1", events.TemplateClaimed)); res.Outcome != function.Retry {
		t.Errorf("got %s, want a retry", res.Outcome)
	}
}
