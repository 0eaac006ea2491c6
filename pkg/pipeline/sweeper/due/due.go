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
	// pace is how many changes one sweep announces that became due, for example because
	// a gate was switched.
	pace = 10
	// dueFor is how long one sweep checks; the next one continues.
	dueFor = time.Second
	// settling is how long after a switch claims are checked again: decisions with the
	// old gates have been committed or have failed by then.
	settling = 30 * time.Second
	// position is the name under which gates is stored.
	position = "gates"
	// roundDue is the position among pending bindings, and roundPage that among those
	// of a page.
	roundDue  = "sweep due"
	roundPage = "sweep due page"
	// Room is the name of this room on a page.
	Room = "due"
)

// Hub is the control plane's API.
type Hub interface {
	inputs.ClaimHub
	inputs.GateHub
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	RecordOnce(ctx context.Context, about hub.About, occasion, eventType, reason, message string)
}

// Due finds what is due. It has no state of its own.
type Due struct {
	hub   Hub
	index inputs.Index
	now   func() time.Time
}

// New returns a Due.
func New(h Hub, i inputs.Index, now func() time.Time) *Due {
	return &Due{hub: h, index: i, now: now}
}

// gates is what is stored about the feature gates.
type gates struct {
	Features propagation.Features `json:"features"`
	// Since is when they were first seen with these values.
	Since time.Time `json:"since"`
	// Converged: no claim is left that was decided with other values.
	Converged bool `json:"converged,omitempty"`
	// Began is when the present check of all claims began, Found whether it found one
	// that has to change, and Asked how far it came: the last one in each lane; nil: it
	// is finished.
	Began time.Time      `json:"began"`
	Found bool           `json:"found,omitempty"`
	Asked sweeping.Round `json:"asked,omitempty"`
}

// Switched makes the next sweep check the claims again, even if the gates have not
// changed.
func Switched(t *tick.Tick) { t.Put(position, "") }

// open returns the stored gates, and whether claims may still be decided with other
// values.
func open(t *tick.Tick, f propagation.Features, now time.Time) (gates, bool) {
	var g gates
	if !t.Read(position, &g) || g.Features != f {
		g = gates{Features: f, Since: now.UTC()}
	}
	return g, !g.Converged
}

// Sweep announces, a few at a time, changes that may take effect although nobody wrote
// anything, because a gate was switched. While claims may still be decided with the old
// values it checks all bindings, otherwise those of the page.
func (d *Due) Sweep(ctx context.Context, t *tick.Tick, p *page.Page) error {
	features, err := d.hub.Features(ctx)
	if err != nil {
		return fmt.Errorf("get gates: %w", err)
	}
	now := d.now()
	g, pending := open(t, features, now)
	if features.Missing && g.Since.Equal(now) { // the detector learns of a deletion; that the ConfigMap was missing from the start is reported here
		_, unknown := propagation.FeaturesOf(nil)
		d.hub.RecordOnce(ctx, hub.AboutFeatures(), "missing", hub.Warning, hub.ReasonGateNotUnderstood, strings.Join(unknown, "; "))
	}
	if !pending && !p.Whole {
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
	if left == 0 || !pending {
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

// turn checks the pending bindings of a page for a while; the next sweeps continue
// until it is done.
func (d *Due) turn(ctx context.Context, t *tick.Tick, p *page.Page, f propagation.Features) error {
	if p.IsDone(Room) {
		return nil
	}
	asked := sweeping.Round{}
	if before := t.Round(roundPage); before != nil && !p.Fresh {
		asked = before
	}
	waiting := slices.DeleteFunc(waits(p.Bindings), func(e sweeping.Entry[*propagation.Binding]) bool { return e.ID <= asked[e.Lane] })
	order, _ := sweeping.Pick(waiting, len(waiting), nil) // taking turns between lanes
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

// waits returns the bindings with a pending change.
func waits(bindings []*propagation.Binding) []sweeping.Entry[*propagation.Binding] {
	waiting := make([]sweeping.Entry[*propagation.Binding], 0)
	for _, b := range bindings {
		if conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionFalse) {
			waiting = append(waiting, sweeping.Entry[*propagation.Binding]{Lane: tick.LaneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b})
		}
	}
	return waiting
}

// look checks for a while whether claims stay as they are, until it has found so many
// that do not, and continues where the last check ended.
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
	order, _ := sweeping.Pick(open, len(open), nil) // taking turns between lanes
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

// opened returns the templates of pending bindings whose change may take effect by now.
// It checks for a while, and the next sweep continues.
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

// gated returns the templates whose claim may depend on the gates: those that were
// propagated and that no policy holds, and those that a policy may preempt.
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

// opens reports whether the gate would let the pending change of a binding take effect.
func (d *Due) opens(ctx context.Context, b *propagation.Binding, f propagation.Features) (bool, error) {
	in, err := inputs.GateOf(ctx, d.hub, b)
	switch {
	case errors.Is(err, outcome.ErrGone), errors.Is(err, inputs.ErrStale):
		return true, nil // the gate deletes the binding, or has the claim decided again
	case errors.Is(err, outcome.ErrNotServed):
		return false, nil // what is in force stays
	case err != nil:
		return false, err
	}
	in.Features = f
	return gating.Decide(in).Verdict == gating.Open, nil
}
