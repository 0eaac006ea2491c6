// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/outcome"
)

const (
	// name of the function.
	name = "changewindow"
	// Extension says on an event that it may pass, and why. The Trigger of the
	// gate takes the team's events with it alone.
	Extension = "changewindow"
	// Held is the type of the event that tells what waits, and why.
	Held = "com.example.shop.change.held"
	// pace is how many templates are let go with each tick.
	pace = 100
)

// Hub is what the function needs of the control plane.
type Hub interface {
	// Window is when changes may go out; nil, and why, where it cannot be read.
	Window(ctx context.Context) (w *Window, why string, err error)
	// Template is the template that the data name.
	Template(ctx context.Context, d events.Data) (Template, error)
	// Hold remembers that the template waits. Doing so because of another event
	// makes the record another.
	Hold(ctx context.Context, h Waiting) error
	// Waiting are at most limit templates that wait.
	Waiting(ctx context.Context, limit int64) ([]Waiting, error)
	// Forget forgets that very record: one that changed meanwhile stays.
	Forget(ctx context.Context, h Waiting) error
}

// Waiting is a template that waits for the window.
type Waiting struct {
	// Data name the template.
	Data events.Data
	// Event that was held last.
	Event string
	// Why it waits, for people.
	Why string
	// Record is the record's name, Version its version; set by Hub.
	Record, Version string
}

// Stage lets events pass, or holds them.
type Stage struct {
	hub     Hub
	publish func(ctx context.Context, out []event.Event) error
	now     func() time.Time
	counted *prometheus.CounterVec
}

// New makes the stage.
func New(h Hub, publish func(context.Context, []event.Event) error, now func() time.Time, reg prometheus.Registerer) *Stage {
	s := &Stage{hub: h, publish: publish, now: now, counted: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "changewindow_events_total", Help: "Events that were let through or held, by reason.",
	}, []string{"passed", "reason"})}
	reg.MustRegister(s.counted)
	return s
}

// Name is that of the function.
func (s *Stage) Name() string { return name }

// Handle stamps the event and sends it on, or holds it. With each tick it lets go
// what waited, if the window is open. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	if e.Type() == events.Ping {
		return nil, s.release(ctx, e)
	}
	d, err := events.Decode(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	t, err := s.hub.Template(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", e.Subject(), err)
	}
	w, unreadable, err := s.hub.Window(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the window: %w", err)
	}
	decision := Decide(t, w, s.now())
	s.counted.WithLabelValues(fmt.Sprint(decision.Pass), string(decision.Reason)).Inc()
	if decision.Pass {
		// The same event, with the same id: who knows it knows it again.
		out := e.Clone()
		out.SetExtension(Extension, string(decision.Reason))
		return []event.Event{out}, nil
	}
	return s.hold(ctx, e, d, decision, unreadable)
}

// hold remembers that the template waits, before the broker may forget the event.
func (s *Stage) hold(ctx context.Context, e event.Event, d events.Data, decision Decision, unreadable string) ([]event.Event, error) {
	why := string(decision.Reason) + ": until " + decision.Opens.Format(time.RFC1123Z)
	if decision.Opens.IsZero() {
		why = string(decision.Reason) + ": " + unreadable
	}
	if err := s.hub.Hold(ctx, Waiting{Data: events.Data{Template: d.Template}, Event: e.ID(), Why: why}); err != nil {
		return nil, fmt.Errorf("remember that %s waits: %w", e.Subject(), err)
	}
	function.Logger(ctx).Info("change held", slog.String("object", e.Subject()), slog.String("why", why))
	out := event.New()
	out.SetID(e.ID() + "-held")
	out.SetSource("/shop/" + name)
	out.SetType(Held)
	out.SetSubject(e.Subject())
	out.SetExtension(events.ExtReason, string(decision.Reason))
	for _, ext := range []string{events.ExtNamespace, events.ExtKind, events.ExtName, events.ExtTraceParent} {
		if v, ok := e.Extensions()[ext]; ok {
			out.SetExtension(ext, v)
		}
	}
	if err := out.SetData("application/json", map[string]any{"template": d.Template, "message": why}); err != nil {
		return nil, outcome.Terminal(err)
	}
	return []event.Event{out}, nil
}

// release has Sluice look again at what waited. It asks for a fresh look, and
// does not send the old event: by now another policy may hold the template. The
// record goes once the broker has the event; if it changed meanwhile, something
// else was held and it stays.
func (s *Stage) release(ctx context.Context, tick event.Event) error {
	w, _, err := s.hub.Window(ctx)
	if err != nil {
		return fmt.Errorf("get the window: %w", err)
	}
	if w == nil || !w.Open(s.now()) {
		return nil
	}
	waiting, err := s.hub.Waiting(ctx, pace)
	if err != nil || len(waiting) == 0 {
		return err
	}
	batch := events.From(name, tick)
	for _, h := range waiting {
		batch.Emit(events.TemplateTouched, events.Data{Template: h.Data.Template, Reason: string(WindowOpen)})
	}
	out, err := batch.Events()
	if err != nil {
		return err
	}
	if err := s.publish(ctx, out); err != nil {
		return fmt.Errorf("wake what waited: %w", err)
	}
	for _, h := range waiting {
		if err := s.hub.Forget(ctx, h); err != nil {
			return fmt.Errorf("forget %s: %w", h.Record, err)
		}
	}
	function.Logger(ctx).Info("changes let go", slog.Int("count", len(waiting)))
	return nil
}

// encode is how a record names its template.
func encode(d events.Data) (string, error) {
	raw, err := json.Marshal(d)
	return string(raw), err
}
