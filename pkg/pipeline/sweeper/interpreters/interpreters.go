// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package interpreters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// position is the name under which progress is stored.
	position = "rules"
	// reason of the events.
	reason = "RulesChanged"
)

// Hub is the control plane's API.
type Hub interface {
	Interpreters(ctx context.Context) ([]*rules.Interpreter, error)
	CommitInterpreterStatus(ctx context.Context, i *rules.Interpreter, status configv1alpha1.ResourceInterpreterStatus) error
}

// Follower follows the rules of kinds. It has no state of its own.
type Follower struct {
	hub Hub
	now func() time.Time
}

// New returns a Follower.
func New(h Hub, now func() time.Time) *Follower { return &Follower{hub: h, now: now} }

// progress is what is stored about the rules.
type progress struct {
	// Seen are the rules by kind, as returned by rules.Versions.
	Seen map[string]string `json:"seen,omitempty"`
	// Due are the kinds whose templates have to be announced, each with the last one
	// that was.
	Due map[string]string `json:"due,omitempty"`
}

// Sweep writes to each interpreter whether its rules act, and announces templates of
// kinds whose rules changed.
func (f *Follower) Sweep(ctx context.Context, t *tick.Tick, bindings func() ([]*propagation.Binding, error)) error {
	all, err := f.hub.Interpreters(ctx)
	if err != nil {
		return fmt.Errorf("list the rules of kinds: %w", err)
	}
	var failed error
	for _, i := range all {
		failed = errors.Join(failed, f.say(ctx, i, rules.Accepted(i, all)))
	}
	var p progress
	t.Read(position, &p)
	if !p.note(rules.Versions(all)) && len(p.Due) == 0 {
		return failed
	}
	bound, err := bindings()
	if err != nil {
		return errors.Join(failed, fmt.Errorf("list bindings: %w", err))
	}
	p.announce(t.Out, bound)
	return errors.Join(failed, t.Write(position, p))
}

// note records the present rules, and reports whether they changed.
func (p *progress) note(versions map[schema.GroupKind]string) bool {
	now := make(map[string]string, len(versions))
	for gk, version := range versions {
		now[gk.String()] = version
	}
	if maps.Equal(now, p.Seen) {
		return false
	}
	if p.Due == nil {
		p.Due = map[string]string{}
	}
	for kind := range now {
		if p.Seen[kind] != now[kind] {
			p.Due[kind] = ""
		}
	}
	for kind := range p.Seen {
		if now[kind] == "" {
			p.Due[kind] = ""
		}
	}
	p.Seen = now
	return true
}

// announce emits events for some bindings of the kinds that are due.
func (p *progress) announce(out *events.Batch, bindings []*propagation.Binding) {
	bindings = slices.Clone(bindings)
	slices.SortFunc(bindings, func(a, b *propagation.Binding) int { return cmp.Compare(a.Key.ID(), b.Key.ID()) })
	left := tick.Batch
	for _, b := range bindings {
		kind := b.Template().GroupVersionKind().GroupKind().String()
		last, due := p.Due[kind]
		if !due || b.Key.ID() <= last {
			continue
		}
		if left == 0 {
			return
		}
		left--
		p.Due[kind] = b.Key.ID()
		template := b.Template()
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: reason})
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: reason})
	}
	p.Due = nil
}

// say writes the condition if it changed.
func (f *Follower) say(ctx context.Context, i *rules.Interpreter, c metav1.Condition) error {
	if i.Deleting {
		return nil
	}
	status := i.Status
	list, changed := conditions.Set(status.Conditions, c, f.now())
	if !changed && status.ObservedGeneration == i.Generation {
		return nil
	}
	status.Conditions, status.ObservedGeneration = list, i.Generation
	err := f.hub.CommitInterpreterStatus(ctx, i, status)
	if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
		return nil // it changed meanwhile: the next sweep tries again
	}
	if err != nil {
		return fmt.Errorf("commit status of ResourceInterpreter %s: %w", i.Name, err)
	}
	return nil
}
