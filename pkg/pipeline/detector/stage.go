// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/redis/claims"
)

// Name of the stage.
const Name = "detector"

// Stage is the detector.
type Stage struct {
	hub         Hub
	claims      ClaimMap
	policies    Policies
	suspensions Suspensions
	announced   announced
}

// New makes the stage.
func New(h Hub, c ClaimMap, p Policies, b Suspensions) *Stage {
	return &Stage{hub: h, claims: c, policies: p, suspensions: b, announced: newAnnounced()}
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle updates the claim of a template, or emits events for the templates that a
// changed policy may concern. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.TemplateTouched:
		d, err := events.Decode(e)
		if err != nil {
			return nil, outcome.Terminal(err)
		}
		return s.template(ctx, e, *d.Template)
	case events.PolicyChanged:
		d, err := events.Decode(e)
		if err != nil {
			return nil, outcome.Terminal(err)
		}
		return s.fanOut(ctx, e, *d.Policy, d.Continue)
	}
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	if key, ok := hub.PolicyKeyOf(o.TemplateKey); ok {
		return s.policy(ctx, e, key)
	}
	if o.TemplateKey == propagation.FeaturesKey() {
		return s.gates(ctx, e)
	}
	return s.template(ctx, e, o.TemplateKey)
}

// gates announces that the feature gates changed, and tells people which of their keys
// and values are invalid.
func (s *Stage) gates(ctx context.Context, e event.Event) ([]event.Event, error) {
	about := hub.AboutFeatures()
	t, err := s.hub.Template(ctx, propagation.FeaturesKey())
	switch {
	case err == nil:
		about = hub.AboutTemplate(t)
	case errors.Is(err, outcome.ErrGone):
		t = nil
	default:
		return nil, fmt.Errorf("get gates: %w", err)
	}
	if _, unknown := propagation.FeaturesOf(t); len(unknown) > 0 {
		s.hub.Record(ctx, about, hub.Warning, hub.ReasonGateNotUnderstood, strings.Join(unknown, "; "))
	}
	out := events.From(Name, e)
	out.Emit(events.GatesChanged, events.Data{Reason: "GatesChanged"})
	return out.Events()
}

// template claims, keeps or releases one template.
func (s *Stage) template(ctx context.Context, e event.Event, key propagation.TemplateKey) ([]event.Event, error) {
	if matching.Own(key) {
		return nil, nil // a binding has the marks of its policy, which are no claim
	}
	in, view, err := inputs.Load(ctx, s.hub, s.claims, key)
	if errors.Is(err, outcome.ErrGone) {
		return s.gone(ctx, e, key)
	}
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil // whether the template exists is not known: its claim stays
	}
	if err != nil {
		return nil, err
	}
	if s.announced.hasTemplate(ctx, e, in.Template) {
		return nil, nil
	}
	d := claiming.Decide(in)
	t, err := s.commit(ctx, in.Template, view, d)
	if err != nil {
		return nil, err
	}
	s.announced.noteTemplate(e, t)
	if d.Verdict == claiming.Wait && d.Reason == claiming.NeverTemplate {
		return nil, nil
	}
	out := events.From(Name, e)
	if !events.Own(e) {
		out.Single() // somebody changed it, and waits
	}
	data := events.Data{Template: &t.Key, TemplateVersion: t.ResourceVersion, Reason: string(d.Reason), Message: d.Message}
	if d.Policy != nil {
		data.Policy, data.PolicyVersion = &d.Policy.Key, d.Policy.ResourceVersion
	}
	out.Emit(emits[d.Verdict], data)
	return out.Events()
}

// emits is the event that each verdict sends to the next stage.
var emits = map[claiming.Verdict]string{
	claiming.Keep:    events.TemplateClaimed,
	claiming.Take:    events.TemplateClaimed,
	claiming.Contest: events.TemplateContested,
	claiming.Release: events.TemplateReleased,
	claiming.Wait:    events.TemplateWaiting,
}

// commit writes the decision: the index first, so that a changed policy finds the
// template whatever happens next, and then the template. Each is written only if it
// differs from what was read, and only if nobody else wrote it since.
func (s *Stage) commit(ctx context.Context, t *propagation.Template, view claims.View, d claiming.Decision) (*propagation.Template, error) {
	claim, baseline := propagation.Claim{}, propagation.Baseline("")
	switch d.Verdict {
	case claiming.Contest:
		return t, nil
	case claiming.Keep:
		claim, baseline = t.Claim, t.Baseline
	case claiming.Take:
		claim, baseline = d.Policy.Claim(), d.Baseline
	}
	if err := s.index(ctx, t, view, claim, d.Reason); err != nil {
		return nil, err
	}
	next, err := s.hub.CommitClaim(ctx, t, claim, baseline)
	if err != nil {
		return nil, fmt.Errorf("commit claim of %s: %w", t.Key, err)
	}
	switch {
	case d.Verdict != claiming.Take:
	case baseline == "" && claim != t.Claim:
		s.hub.Mention(ctx, hub.AboutTemplate(next), policyv1alpha1.EventReasonApplyPolicySucceed, "Apply "+d.Policy.Key.String()+" succeed")
	case baseline != "":
		s.hub.Record(ctx, hub.AboutTemplate(next), hub.Normal, "WaitingForTemplateChange",
			d.Policy.Key.String()+" is Lazy and claims this "+t.Key.Kind+" that was there before: it acts when the "+t.Key.Kind+" changes")
	}
	return next, nil
}

// index updates the claim map to the claim.
func (s *Stage) index(ctx context.Context, t *propagation.Template, view claims.View, claim propagation.Claim, reason claiming.Reason) error {
	seen := view.Seen.Of(t)
	switch {
	case claim.Held():
		if view.Holder == claim && !view.Parked && view.Seen == seen {
			return nil
		}
		if err := s.claims.Record(ctx, t.Key, claim, seen, view.Revision); err != nil {
			return fmt.Errorf("record the claim of %s: %w", t.Key, err)
		}
	case reason == claiming.NeverTemplate:
		if !view.Parked && !view.Holder.Held() {
			return nil
		}
		if err := s.claims.Drop(ctx, t.Key); err != nil {
			return fmt.Errorf("drop %s: %w", t.Key, err)
		}
	default:
		if err := s.claims.Park(ctx, t.Key, t.Labels, seen, view.Revision); err != nil {
			return fmt.Errorf("park %s: %w", t.Key, err)
		}
	}
	return nil
}

// gone forgets a template that does not exist any more.
func (s *Stage) gone(ctx context.Context, e event.Event, key propagation.TemplateKey) ([]event.Event, error) {
	if matching.Exempt(key) != "" {
		return nil, nil // it was never a template
	}
	if err := s.claims.Drop(ctx, key); err != nil {
		return nil, fmt.Errorf("drop %s: %w", key, err)
	}
	if _, err := s.hub.Template(ctx, key); !errors.Is(err, outcome.ErrGone) {
		return nil, outcome.Conflict(errors.Join(fmt.Errorf("%s is there again", key), err))
	}
	out := events.From(Name, e)
	out.Emit(events.TemplateReleased, events.Data{Template: &key, Reason: "TemplateDeleted", Message: "the template is gone"})
	return out.Events()
}
