// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
)

// Name of the stage.
const Name = "gate"

// Stage is the gate.
type Stage struct {
	hub Hub
	now func() time.Time
}

// New makes the stage.
func New(h Hub, now func() time.Time) *Stage { return &Stage{hub: h, now: now} }

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle lets the claiming policy take effect on the template, or says why it does not
// yet. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	msg, err := events.DecodeFor(e, events.FieldTemplate)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	in, err := inputs.LoadGate(ctx, s.hub, *msg.Template, func(in *gating.Input) error { return s.prepare(ctx, in) })
	switch {
	case errors.Is(err, outcome.ErrGone):
		return s.remove(ctx, e, *msg.Template, in.Binding)
	case errors.Is(err, outcome.ErrNotServed):
		return nil, nil // whether the template exists is not known: what is in force stays
	case errors.Is(err, inputs.ErrStale):
		out := events.From(Name, e)
		out.Emit(events.TemplateTouched, events.Data{Template: msg.Template, Reason: "ClaimDoesNotStand"})
		return out.Events()
	case err != nil:
		return nil, err
	}
	out := events.From(Name, e)
	if in.Binding != nil && !in.Binding.Of(in.Template) {
		return s.refuse(ctx, out, in)
	}
	had := in.Binding
	if in, err = s.clear(ctx, in); err != nil {
		return nil, err
	}
	d := gating.Decide(in)
	b, err := s.commit(ctx, in, d)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil // its namespace is being deleted, and the template with it
	}
	if err != nil {
		return nil, err
	}
	if b == nil && had != nil {
		// No policy holds this template, but others may depend on the former one.
		out.Emit(events.BindingRemoved, events.Data{Template: &in.Template.Key, Binding: &had.Key, Reason: "TemplateReplaced"})
		return out.Events()
	}
	if b == nil {
		return nil, nil // no policy holds the template, and none ever took effect on it
	}
	data := events.Data{
		Template: &in.Template.Key, TemplateVersion: in.Template.ResourceVersion, Binding: &b.Key, BindingVersion: b.ResourceVersion,
		SchedulerName: b.ForeignScheduler(), Reason: string(d.Reason), Message: d.Message,
	}
	if in.Policy != nil {
		data.Policy, data.PolicyVersion = &in.Policy.Key, in.Policy.ResourceVersion
	}
	if d.Pending() {
		out.Emit(events.BindingDeferred, data)
	}
	if b.ActedHash() != "" {
		// Claim and suspension are in force at once, even if the rest is deferred.
		out.Emit(events.BindingActivated, data)
	}
	return out.Events()
}

// clear deletes the binding of an earlier template of the same name.
func (s *Stage) clear(ctx context.Context, in gating.Input) (gating.Input, error) {
	if former := in.Former(); former != nil {
		if err := s.hub.DeleteBinding(ctx, former); err != nil {
			return in, fmt.Errorf("delete the binding of the former %s: %w", in.Template.Key, err)
		}
	}
	return in.WithoutFormer(), nil
}

// refuse reports that the binding of that name belongs to another template, and leaves
// the binding as it is. It only notes there that this template waits, so that it is
// handled when that binding is deleted.
func (s *Stage) refuse(ctx context.Context, out *events.Batch, in gating.Input) ([]event.Event, error) {
	d := gating.Decide(in)
	if d.Verdict == gating.Idle {
		return nil, nil
	}
	if next := in.Binding.Wanting(in.Template.Key); next != in.Binding {
		if _, err := s.hub.CommitBinding(ctx, in.Binding, next); err != nil {
			return nil, fmt.Errorf("note at %s who waits for its name: %w", in.Binding.Key, err)
		}
		s.hub.Record(ctx, hub.AboutTemplate(in.Template), hub.Warning, string(d.Reason), d.Message)
	}
	out.Emit(events.BindingDeferred, events.Data{
		Template: &in.Template.Key, TemplateVersion: in.Template.ResourceVersion, Binding: &in.Binding.Key,
		Policy: &in.Policy.Key, PolicyVersion: in.Policy.ResourceVersion, Reason: string(d.Reason), Message: d.Message,
	})
	return out.Events()
}

// prepare waits for a binding that is being deleted, and restores its frozen content.
func (s *Stage) prepare(ctx context.Context, in *gating.Input) error {
	if in.Binding != nil && in.Binding.Deleting {
		return outcome.After(200*time.Millisecond, fmt.Errorf("%s is being deleted", in.Binding.Key))
	}
	return s.repair(ctx, in)
}

// remove deletes the binding of a template that is gone, once that is proven.
func (s *Stage) remove(ctx context.Context, e event.Event, key propagation.TemplateKey, b *propagation.Binding) ([]event.Event, error) {
	if b == nil {
		return removed(e, key)
	}
	switch {
	case b.AwaitsTemplate():
		return nil, nil
	case b.Template().ID() != key.ID():
		return nil, nil // the template that is gone is another one
	case b.Deleting:
		return nil, outcome.After(200*time.Millisecond, fmt.Errorf("%s is being deleted", b.Key))
	}
	t, err := s.hub.LiveTemplate(ctx, b.Template())
	switch {
	case errors.Is(err, outcome.ErrNotServed), err == nil && t.UID == b.TemplateUID():
		return nil, nil // it exists, or that is not known: what is in force stays
	case err != nil && !errors.Is(err, outcome.ErrGone):
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	if err := s.hub.DeleteBinding(ctx, b); err != nil {
		return nil, fmt.Errorf("delete %s: %w", b.Key, err)
	}
	out, err := removed(e, key)
	if waits, is := b.WantedBy(); is && err == nil {
		turn := events.From(Name, e)
		turn.Emit(events.TemplateTouched, events.Data{Template: &waits, Reason: "BindingNameFree"})
		woken, err := turn.Events()
		return append(out, woken...), err
	}
	return out, err
}

// removed emits the event that has the Works checked, also if the binding was gone
// before.
func removed(e event.Event, key propagation.TemplateKey) ([]event.Event, error) {
	binding := propagation.BindingOf(key)
	out := events.From(Name, e)
	out.Emit(events.BindingRemoved, events.Data{Template: &key, Binding: &binding, Reason: "TemplateDeleted"})
	return out.Events()
}
