// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package preemptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/redis/claims"
)

// Name of the stage.
const Name = "preemptor"

// preemptions counts preempted templates by result: success or error.
var preemptions = promauto.NewCounterVec(prometheus.CounterOpts{
	Name: "policy_preemption_total",
	Help: "Templates taken from a policy by another one, by result.",
}, []string{"result"})

// Stage is the preemptor.
type Stage struct {
	hub    Hub
	claims ClaimMap
}

// New makes the stage.
func New(h Hub, c ClaimMap) *Stage {
	for _, result := range []string{"success", "error"} {
		preemptions.WithLabelValues(result) // a counter that exists with the value 0 can be monitored
	}
	return &Stage{hub: h, claims: c}
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle takes the template for the policy that may preempt it, if one still may. It is
// safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	msg, err := events.DecodeFor(e, events.FieldTemplate)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	in, view, err := inputs.Load(ctx, s.hub, s.claims, *msg.Template)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil // its deletion has an event of its own
	}
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil // the template is not known: its claim stays
	}
	if err != nil {
		return nil, err
	}
	t, d := in.Template, claiming.Decide(in)
	out := events.From(Name, e)
	data := events.Data{Template: &t.Key, TemplateVersion: t.ResourceVersion, Reason: string(d.Reason), Message: d.Message}
	switch d.Verdict {
	case claiming.Contest:
		if t, err = s.take(ctx, t, d, view); err != nil {
			return nil, err
		}
		data.TemplateVersion = t.ResourceVersion
		data.Policy, data.PolicyVersion, data.Previous = &d.Policy.Key, d.Policy.ResourceVersion, &d.Holder.Key
		out.Emit(events.ClaimPreempted, data)
	case claiming.Keep:
		data.Policy, data.PolicyVersion = &d.Policy.Key, d.Policy.ResourceVersion
		out.Emit(events.TemplateClaimed, data)
	default:
		out.Emit(events.TemplateTouched, data)
	}
	return out.Events()
}

// take moves the claim: in the index first, then on the template.
func (s *Stage) take(ctx context.Context, t *propagation.Template, d claiming.Decision, view claims.View) (*propagation.Template, error) {
	next, err := s.commit(ctx, t, d, view)
	if err != nil {
		if !outcome.IsConflict(err) {
			preemptions.WithLabelValues("error").Inc()
			s.hub.Record(ctx, hub.AboutTemplate(t), hub.Warning, "PreemptPolicyFailed",
				fmt.Sprintf("%s could not take this %s from %s: %s", d.Policy.Key, t.Key.Kind, d.Holder.Key, err))
		}
		return nil, err
	}
	preemptions.WithLabelValues("success").Inc()
	s.hub.Record(ctx, hub.AboutTemplate(next), hub.Normal, "PreemptPolicySucceed",
		fmt.Sprintf("%s took this %s from %s", d.Policy.Key, t.Key.Kind, d.Holder.Key))
	return next, nil
}

func (s *Stage) commit(ctx context.Context, t *propagation.Template, d claiming.Decision, view claims.View) (*propagation.Template, error) {
	if err := s.claims.Record(ctx, t.Key, d.Policy.Claim(), view.Seen.Of(t), view.Revision); err != nil {
		return nil, fmt.Errorf("record the claim of %s: %w", t.Key, err)
	}
	next, err := s.hub.CommitClaim(ctx, t, d.Policy.Claim(), d.Baseline)
	if err != nil {
		return nil, fmt.Errorf("commit claim of %s: %w", t.Key, err)
	}
	return next, nil
}
