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
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
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

// Name is that of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle lets the claimed policy act on the template, or says why not yet. It
// is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	msg, err := events.Decode(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	in, err := s.load(ctx, *msg.Template)
	switch {
	case errors.Is(err, outcome.ErrGone):
		return s.remove(ctx, e, *msg.Template, in.Binding)
	case errors.Is(err, errStale):
		out := events.From(Name, e)
		out.Emit(events.TemplateTouched, events.Data{Template: msg.Template, Reason: "ClaimDoesNotStand"})
		return out.Events()
	case err != nil:
		return nil, err
	}
	out := events.From(Name, e)
	if b := in.Binding; b != nil && !b.AwaitsTemplate() && b.Spec.Resource.UID != in.Template.UID {
		if err := s.hub.DeleteBinding(ctx, b); err != nil {
			return nil, fmt.Errorf("delete the binding of the former %s: %w", in.Template.Key, err)
		}
		in.Binding = nil
	}
	d := gating.Decide(in)
	b, err := s.commit(ctx, in, d)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil // its namespace goes, and the template with it
	}
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, nil // nobody holds it, and nothing ever acted on it
	}
	data := events.Data{
		Template: &in.Template.Key, TemplateVersion: in.Template.ResourceVersion, Binding: &b.Key, BindingVersion: b.ResourceVersion,
		SchedulerName: foreignScheduler(b), Reason: string(d.Reason), Message: d.Message,
	}
	if in.Policy != nil {
		data.Policy, data.PolicyVersion = &in.Policy.Key, in.Policy.ResourceVersion
	}
	if d.Pending() {
		out.Emit(events.BindingDeferred, data)
	}
	if b.ActedHash() != "" {
		// Claim and suspension are in force at once, even behind a closed gate.
		out.Emit(events.BindingActivated, data)
	}
	return out.Events()
}

// errStale says that the claim on the template does not stand.
var errStale = errors.New("claim does not stand")

// load reads the binding, which may be written, and then what it depends on.
// Where the template is gone the binding is there all the same.
func (s *Stage) load(ctx context.Context, key propagation.TemplateKey) (gating.Input, error) {
	var in gating.Input
	b, err := s.hub.Binding(ctx, propagation.BindingOf(key))
	switch {
	case err == nil && b.Deleting:
		return in, outcome.After(200*time.Millisecond, fmt.Errorf("%s is being deleted", b.Key))
	case err == nil:
		in.Binding = b
	case !errors.Is(err, outcome.ErrGone):
		return in, fmt.Errorf("get binding of %s: %w", key, err)
	}
	if in.Template, err = s.hub.Template(ctx, key); err != nil {
		return in, fmt.Errorf("get %s: %w", key, err)
	}
	if err := s.repair(ctx, &in); err != nil {
		return in, err
	}
	if in.Features, err = s.hub.Features(ctx); err != nil {
		return in, fmt.Errorf("get gates: %w", err)
	}
	claim := in.Template.Claim
	if !claim.Held() {
		return in, nil
	}
	p, err := s.hub.Policy(ctx, claim.Policy)
	if errors.Is(err, outcome.ErrGone) {
		return in, errStale
	}
	if err != nil {
		return in, fmt.Errorf("get %s: %w", claim.Policy, err)
	}
	if _, miss := matching.Select(p, in.Template); miss != "" || !claim.By(p) {
		return in, errStale
	}
	in.Policy = p
	return in, nil
}

// remove takes away the binding of a template that is gone.
func (s *Stage) remove(ctx context.Context, e event.Event, key propagation.TemplateKey, b *propagation.Binding) ([]event.Event, error) {
	if b != nil && b.AwaitsTemplate() {
		return nil, nil
	}
	if b != nil {
		if err := s.hub.DeleteBinding(ctx, b); err != nil {
			return nil, fmt.Errorf("delete %s: %w", b.Key, err)
		}
	}
	binding := propagation.BindingOf(key)
	out := events.From(Name, e)
	out.Emit(events.BindingRemoved, events.Data{Template: &key, Binding: &binding, Reason: "TemplateDeleted"})
	return out.Events()
}

// foreignScheduler is the scheduler that the binding asks for, if it is not
// Sluice's.
func foreignScheduler(b *propagation.Binding) string {
	if b.Spec.SchedulerName == propagation.DefaultScheduler {
		return ""
	}
	return b.Spec.SchedulerName
}
