// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/standing"
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
)

// gates is what the sweeper remembers of them.
type gates struct {
	mu       sync.Mutex
	known    bool
	features propagation.Features
	since    time.Time
	heeded   bool
}

// switched has claims looked at again, though the gates may be as they were.
func (g *gates) switched() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = false
}

// open tells whether claims may still be those of other gates.
func (g *gates) open(f propagation.Features, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known || g.features != f {
		g.known, g.features, g.since, g.heeded = true, f, now, false
	}
	return !g.heeded
}

// done says that in a look that began then no claim was found that has to change.
func (g *gates) done(f propagation.Features, began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heeded = g.known && g.features == f && began.Sub(g.since) >= settling
}

// due announces, a few at a time, what may act by now though nobody wrote it: a
// gate was switched.
func (s *Stage) due(ctx context.Context, bindings []*propagation.Binding, r *rounds, out *events.Batch) error {
	features, err := s.hub.Features(ctx)
	if err != nil {
		return fmt.Errorf("get gates: %w", err)
	}
	now := s.now()
	opened, failed := s.opened(ctx, bindings, features, r)
	for _, key := range opened {
		touch(out, key)
	}
	left := pace - len(opened)
	if left == 0 || !s.gates.open(features, now) {
		return failed
	}
	keys, err := s.gated(ctx, bindings, features)
	if err != nil {
		return errors.Join(failed, err)
	}
	found, unsettled, err := 0, []sweeping.Entry[propagation.TemplateKey]{}, failed
	for _, key := range keys {
		_, settled, failure := s.settled(ctx, key)
		switch {
		case errors.Is(failure, outcome.ErrGone), errors.Is(failure, outcome.ErrNotServed):
		case failure != nil:
			err = errors.Join(err, failure)
			found++
		case !settled:
			found++
			unsettled = append(unsettled, sweeping.Entry[propagation.TemplateKey]{Lane: laneOf(key.Namespace), ID: key.ID(), Value: key})
		}
	}
	for _, key := range pick(r, roundUnsettled, unsettled, left) {
		touch(out, key)
	}
	if found == 0 {
		s.gates.done(features, now)
	}
	return err
}

// opened are the templates of bindings that wait at a gate which would let them
// through by now. It asks for a while, and the next sweep goes on.
func (s *Stage) opened(ctx context.Context, bindings []*propagation.Binding, f propagation.Features, r *rounds) ([]propagation.TemplateKey, error) {
	waiting := make([]sweeping.Entry[*propagation.Binding], 0)
	for _, b := range bindings {
		if conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionFalse) {
			waiting = append(waiting, sweeping.Entry[*propagation.Binding]{Lane: laneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b})
		}
	}
	before := r.of(roundDue)
	order, _ := sweeping.Pick(waiting, len(waiting), before)
	var open []propagation.TemplateKey
	var failed error
	asked, began := 0, s.now()
	for _, b := range order {
		if len(open) == pace || s.now().Sub(began) > dueFor {
			break
		}
		yes, err := s.open(ctx, b, f)
		failed = errors.Join(failed, err)
		if yes {
			open = append(open, b.Template())
		}
		asked++
	}
	_, next := sweeping.Pick(waiting, asked, before)
	r.set(roundDue, next)
	return open, failed
}

func touch(out *events.Batch, template propagation.TemplateKey) {
	out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "Due"})
}

// gated are the templates whose claim may hang on the gates: those that were
// propagated and that nobody holds, and those that a policy may preempt.
func (s *Stage) gated(ctx context.Context, bindings []*propagation.Binding, f propagation.Features) ([]propagation.TemplateKey, error) {
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
	policies, err := s.hub.Policies(ctx)
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	for _, p := range policies {
		keys = append(keys, preemption.Named(p)...)
	}
	return keys, nil
}

// settled reads a template and asks whether its claim stays as it is.
func (s *Stage) settled(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, bool, error) {
	in, _, err := standing.Load(ctx, s.hub, s.index, key)
	if err != nil {
		return nil, false, err
	}
	return in.Template, claiming.Decide(in).Settled(), nil
}

// open asks the gate about a binding.
func (s *Stage) open(ctx context.Context, b *propagation.Binding, f propagation.Features) (bool, error) {
	in, err := standing.GateOf(ctx, s.hub, b)
	switch {
	case errors.Is(err, outcome.ErrGone), errors.Is(err, standing.ErrStale):
		return true, nil // the gate takes the binding away, or has the claim decided on
	case errors.Is(err, outcome.ErrNotServed):
		return false, nil // what is in force stays
	case err != nil:
		return false, err
	}
	in.Features = f
	return gating.Decide(in).Verdict == gating.Open, nil
}
