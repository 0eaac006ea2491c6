// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
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
func (s *Stage) due(ctx context.Context, bindings []*propagation.Binding, out *events.Batch) error {
	features, err := s.hub.Features(ctx)
	if err != nil {
		return fmt.Errorf("get gates: %w", err)
	}
	now, left := s.now(), pace
	waiting := slices.DeleteFunc(slices.Clone(bindings), func(b *propagation.Binding) bool {
		return !conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionFalse) || b.Key.ID() <= s.asked
	})
	slices.SortFunc(waiting, func(a, b *propagation.Binding) int { return strings.Compare(a.Key.ID(), b.Key.ID()) })
	for _, b := range waiting {
		if left == 0 || s.now().Sub(now) > dueFor {
			return nil
		}
		open, err := s.open(ctx, b, features)
		if err != nil {
			return err
		}
		if open {
			touch(out, b.Template())
			left--
		}
		s.asked = b.Key.ID()
	}
	s.asked = ""
	if !s.gates.open(features, now) {
		return nil
	}
	keys, err := s.gated(ctx, bindings, features)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if left == 0 {
			return nil
		}
		_, settled, err := s.settled(ctx, key)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return err
		}
		if err == nil && !settled {
			touch(out, key)
			left--
		}
	}
	if left == pace {
		s.gates.done(features, now)
	}
	return nil
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
	v := claiming.Decide(in).Verdict
	return in.Template, v == claiming.Keep || v == claiming.Wait, nil
}

// open asks the gate about a binding.
func (s *Stage) open(ctx context.Context, b *propagation.Binding, f propagation.Features) (bool, error) {
	t, err := s.hub.Template(ctx, b.Template())
	if errors.Is(err, outcome.ErrGone) {
		return true, nil // the gate takes the binding away
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", b.Template(), err)
	}
	in := gating.Input{Template: t, Binding: b, Features: f}
	if t.Claim.Held() {
		in.Policy, err = s.hub.Policy(ctx, t.Claim.Policy)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return false, fmt.Errorf("get %s: %w", t.Claim.Policy, err)
		}
	}
	return gating.Decide(in).Verdict == gating.Open, nil
}
