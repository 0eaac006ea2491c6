// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package due

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// pace is how many changes that became due, as when a gate was switched, one
	// sweep lets go.
	pace = 10
	// dueFor is how long one sweep asks gates; the next goes on.
	dueFor = time.Second
	// settling is for how long after a switch claims are looked at again: who
	// decided by the old gates has committed or failed by then.
	settling = 30 * time.Second
	// position holds what is remembered of the gates.
	position = "gates"
	// roundDue is how far bindings that wait were asked about, and roundPage how far those
	// of a page.
	roundDue  = "sweep due"
	roundPage = "sweep due page"
	// Room is what a page knows this room by.
	Room = "due"
)

// Hub is the control plane's API.
type Hub interface {
	inputs.ClaimHub
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Due finds what is due. It has no state of its own.
type Due struct {
	hub   Hub
	index inputs.Index
	now   func() time.Time
}

// New makes it.
func New(h Hub, i inputs.Index, now func() time.Time) *Due {
	return &Due{hub: h, index: i, now: now}
}

// gates is what is remembered of them, among the positions.
type gates struct {
	Features propagation.Features `json:"features"`
	// Since is when they were seen so first.
	Since time.Time `json:"since"`
	// Converged: nothing is found any more that was decided by others.
	Converged bool `json:"heeded,omitempty"`
	// Began is when the look at all claims did that is under way, Found whether it found
	// one that has to change, and Asked how far it came: in each lane the last; nil: to
	// its end.
	Began time.Time      `json:"began"`
	Found bool           `json:"found,omitempty"`
	Asked sweeping.Round `json:"asked,omitempty"`
}

// Switched has claims looked at again, though the gates may be as they were.
func Switched(t *tick.Tick) { t.Put(position, "") }

// open tells whether claims may still be those of other gates.
func open(t *tick.Tick, f propagation.Features, now time.Time) (gates, bool) {
	var g gates
	if !t.Read(position, &g) || g.Features != f {
		g = gates{Features: f, Since: now.UTC()}
	}
	return g, !g.Converged
}

// Sweep announces, a few at a time, what may act by now though nobody wrote it: a
// gate was switched. It asks about all bindings as long as a switch is not heeded, and
// else about those of the page.
func (d *Due) Sweep(ctx context.Context, t *tick.Tick, p *page.Page) error {
	features, err := d.hub.Features(ctx)
	if err != nil {
		return fmt.Errorf("get gates: %w", err)
	}
	now := d.now()
	g, unheeded := open(t, features, now)
	if features.Missing && g.Since.Equal(now) { // the detector hears of a deletion, and nobody of what was not there at a start
		_, unknown := propagation.FeaturesOf(nil)
		d.hub.Record(ctx, hub.AboutFeatures(), hub.Warning, hub.ReasonGateNotUnderstood, strings.Join(unknown, "; "))
	}
	if !unheeded && !p.Whole {
		return d.turn(ctx, t, p, features)
	}
	p.Done(Room)
	bindings, err := p.All()
	if err != nil {
		return fmt.Errorf("list bindings: %w", err)
	}
	opened, failed := d.opened(ctx, t, bindings, features)
	for _, key := range opened {
		touch(t.Out, key)
	}
	left := pace - len(opened)
	if left == 0 || !unheeded {
		return failed
	}
	keys, err := d.gated(ctx, bindings, features)
	if err != nil {
		return errors.Join(failed, err)
	}
	found, err := d.look(ctx, &g, keys, left)
	for _, key := range found {
		touch(t.Out, key)
	}
	return errors.Join(failed, err, t.Write(position, g))
}

// turn asks about what waits on a page, for a while, and goes on with the next sweep
// until it is through.
func (d *Due) turn(ctx context.Context, t *tick.Tick, p *page.Page, f propagation.Features) error {
	if p.IsDone(Room) {
		return nil
	}
	asked := sweeping.Round{}
	if before := t.Round(roundPage); before != nil && !p.Fresh {
		asked = before
	}
	waiting := slices.DeleteFunc(waits(p.Bindings), func(e sweeping.Entry[*propagation.Binding]) bool { return e.ID <= asked[e.Lane] })
	order, _ := sweeping.Pick(waiting, len(waiting), nil) // the lanes by turns
	began, opened := d.now(), 0
	var failed error
	for i, b := range order {
		if opened == pace || i > 0 && d.now().Sub(began) > dueFor {
			t.SetRound(roundPage, asked)
			return failed
		}
		yes, err := d.opens(ctx, b, f)
		failed = errors.Join(failed, err)
		if yes {
			touch(t.Out, b.Template())
			opened++
		}
		asked[tick.LaneOf(b.Key.Namespace)] = b.Key.ID()
	}
	t.SetRound(roundPage, nil)
	p.Done(Room)
	return failed
}

// waits are the bindings that wait at a gate.
func waits(bindings []*propagation.Binding) []sweeping.Entry[*propagation.Binding] {
	waiting := make([]sweeping.Entry[*propagation.Binding], 0)
	for _, b := range bindings {
		if conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionFalse) {
			waiting = append(waiting, sweeping.Entry[*propagation.Binding]{Lane: tick.LaneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b})
		}
	}
	return waiting
}

// look asks for a while whether claims stay as they are, of at most so many that do not,
// and goes on where the look before it ended.
func (d *Due) look(ctx context.Context, g *gates, keys []propagation.TemplateKey, most int) (found []propagation.TemplateKey, failed error) {
	began := d.now()
	if g.Asked == nil {
		g.Began, g.Found, g.Asked = began.UTC(), false, sweeping.Round{}
	}
	var open []sweeping.Entry[propagation.TemplateKey]
	for _, key := range keys {
		if lane := tick.LaneOf(key.Namespace); key.ID() > g.Asked[lane] {
			open = append(open, sweeping.Entry[propagation.TemplateKey]{Lane: lane, ID: key.ID(), Value: key})
		}
	}
	order, _ := sweeping.Pick(open, len(open), nil) // the lanes by turns
	for _, key := range order {
		if len(found) == most || d.now().Sub(began) > dueFor {
			return found, failed
		}
		g.Asked[tick.LaneOf(key.Namespace)] = key.ID()
		_, settled, err := inputs.Settled(ctx, d.hub, d.index, key)
		switch {
		case errors.Is(err, outcome.ErrGone), errors.Is(err, outcome.ErrNotServed):
		case err != nil:
			failed = errors.Join(failed, err)
			g.Found = true
		case !settled:
			found = append(found, key)
			g.Found = true
		}
	}
	g.Asked = nil
	g.Converged = !g.Found && g.Began.Sub(g.Since) >= settling
	return found, failed
}

// opened are the templates of bindings that wait at a gate which would let them
// through by now. It asks for a while, and the next sweep goes on.
func (d *Due) opened(ctx context.Context, t *tick.Tick, bindings []*propagation.Binding, f propagation.Features) ([]propagation.TemplateKey, error) {
	waiting := waits(bindings)
	before := t.Round(roundDue)
	order, _ := sweeping.Pick(waiting, len(waiting), before)
	var open []propagation.TemplateKey
	var failed error
	asked, began := 0, d.now()
	for _, b := range order {
		if len(open) == pace || d.now().Sub(began) > dueFor {
			break
		}
		yes, err := d.opens(ctx, b, f)
		failed = errors.Join(failed, err)
		if yes {
			open = append(open, b.Template())
		}
		asked++
	}
	_, next := sweeping.Pick(waiting, asked, before)
	t.SetRound(roundDue, next)
	return open, failed
}

func touch(out *events.Batch, template propagation.TemplateKey) {
	out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "Due"})
}

// gated are the templates whose claim may hang on the gates: those that were
// propagated and that nobody holds, and those that a policy may preempt.
func (d *Due) gated(ctx context.Context, bindings []*propagation.Binding, f propagation.Features) ([]propagation.TemplateKey, error) {
	var keys []propagation.TemplateKey
	if !f.Static {
		for _, b := range bindings {
			if b.ActedHash() != "" && !b.Claim().Held() {
				keys = append(keys, b.Template())
			}
		}
	}
	if !f.Preemption || f.Static {
		return keys, nil
	}
	policies, err := d.hub.Policies(ctx)
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	for _, p := range policies {
		keys = append(keys, preemption.Named(p)...)
	}
	return keys, nil
}

// opens asks the gate about a binding.
func (d *Due) opens(ctx context.Context, b *propagation.Binding, f propagation.Features) (bool, error) {
	in, err := inputs.GateOf(ctx, d.hub, b)
	switch {
	case errors.Is(err, outcome.ErrGone), errors.Is(err, inputs.ErrStale):
		return true, nil // the gate takes the binding away, or has the claim decided on
	case errors.Is(err, outcome.ErrNotServed):
		return false, nil // what is in force stays
	case err != nil:
		return false, err
	}
	in.Features = f
	return gating.Decide(in).Verdict == gating.Open, nil
}
