// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
)

// pageSize is how many templates one event of a fan-out touches.
const pageSize = 100

// The phases of a fan-out, in order: the templates that the policy holds, those that
// wait for a policy, and those that it names and may preempt.
const (
	phaseHeld    = "held"
	phaseWaiting = "waiting"
	phaseNamed   = "named"
)

// policy updates the suspension and the index from the policy, in this order, and
// starts the fan-out.
func (s *Stage) policy(ctx context.Context, e event.Event, key propagation.PolicyKey) ([]event.Event, error) {
	known, err := s.policies.Known(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := inputs.Policy(ctx, s.hub, s.claims, key, known)
	if errors.Is(err, outcome.ErrGone) || err == nil && p.Deleting {
		return s.policyGone(ctx, e, key)
	}
	if err != nil {
		return nil, err
	}
	if err := s.suspensions.SetPolicy(ctx, key, suspension.Of(p)); err != nil {
		return nil, fmt.Errorf("set the suspension of %s: %w", key, err)
	}
	if _, _, err := s.policies.IndexPolicy(ctx, p, claims.SelectorsOf(p)); err != nil {
		return nil, fmt.Errorf("index %s: %w", key, err)
	}
	if s.announced.hasPolicy(ctx, e, p) {
		return nil, nil
	}
	if err := s.keep(ctx, p); err != nil {
		return nil, err
	}
	out, err := s.fanOut(ctx, e, key, "")
	if err == nil {
		s.announced.notePolicy(e, p)
	}
	return out, err
}

// policyGone removes the policy from the index, and emits events for its templates.
func (s *Stage) policyGone(ctx context.Context, e event.Event, key propagation.PolicyKey) ([]event.Event, error) {
	if err := s.policies.RemovePolicy(ctx, key); err != nil {
		return nil, fmt.Errorf("remove %s from the index: %w", key, err)
	}
	if err := s.suspensions.SetPolicy(ctx, key, suspension.Suspension{}); err != nil {
		return nil, fmt.Errorf("clear the suspension of %s: %w", key, err)
	}
	if p, err := s.hub.Policy(ctx, key); err == nil && !p.Deleting || err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, outcome.Conflict(errors.Join(fmt.Errorf("%s is there again", key), err))
	}
	return s.fanOut(ctx, e, key, "")
}

// fanOut emits template.touched for one page of the templates that the policy may
// concern, and the event for the next page. It continues where the event of the page
// before says; empty: it begins with those that the policy holds.
func (s *Stage) fanOut(ctx context.Context, e event.Event, key propagation.PolicyKey, cont string) ([]event.Event, error) {
	p, err := s.hub.Policy(ctx, key)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	out := events.From(Name, e)
	touched, at := 0, cmp.Or(cont, phaseHeld+":")
	for at != "" && touched < pageSize {
		page, next, err := s.page(ctx, key, p, at)
		if err != nil {
			return nil, err
		}
		for i := range page {
			out.Emit(events.TemplateTouched, events.Data{Template: &page[i], Reason: "PolicyChanged"})
		}
		touched += len(page)
		at = next
	}
	if at != "" {
		out.Emit(events.PolicyChanged, events.Data{Policy: &key, Continue: at, Reason: "MoreTemplates"})
	}
	return out.Events()
}

// page returns one page of a phase, and where the next one starts; empty: there is
// none.
func (s *Stage) page(ctx context.Context, key propagation.PolicyKey, p *propagation.Policy, at string) ([]propagation.TemplateKey, string, error) {
	phase, cursor, _ := strings.Cut(at, ":")
	var (
		page []propagation.TemplateKey
		next string
		err  error
	)
	switch {
	case phase != phaseHeld && (p == nil || p.Deleting):
		return nil, "", nil
	case phase == phaseHeld:
		page, next, err = s.policies.Held(ctx, key, cursor, pageSize)
	case phase == phaseWaiting:
		page, next, err = s.policies.Waiting(ctx, claims.SelectorsOf(p), selectedBy(p), cursor, pageSize)
	case phase == phaseNamed:
		page, next = named(p, cursor)
	default:
		return nil, "", outcome.Terminal(fmt.Errorf("%w: continue %q: unknown phase", events.ErrMalformed, at))
	}
	if err != nil {
		return nil, "", fmt.Errorf("find the templates of %s: %w", key, err)
	}
	if next != "" {
		return page, phase + ":" + next, nil
	}
	return page, after(phase, p), nil
}

// after returns the next phase; a policy that is gone has only the first.
func after(phase string, p *propagation.Policy) string {
	switch {
	case p == nil || p.Deleting:
		return ""
	case phase == phaseHeld:
		return phaseWaiting + ":"
	case phase == phaseWaiting && p.Preempts():
		return phaseNamed + ":"
	}
	return ""
}

func selectedBy(p *propagation.Policy) func(propagation.TemplateKey, map[string]string) bool {
	return func(k propagation.TemplateKey, labels map[string]string) bool {
		_, miss := matching.Select(p, &propagation.Template{Key: k, Labels: labels})
		return miss == ""
	}
}

// named returns one page of the templates that the policy names and may preempt.
func named(p *propagation.Policy, cursor string) ([]propagation.TemplateKey, string) {
	keys := preemption.Named(p)
	from, _ := strconv.Atoi(cursor) // empty: the start
	if from = min(max(from, 0), len(keys)); len(keys)-from <= pageSize {
		return keys[from:], ""
	}
	return keys[from : from+pageSize], strconv.Itoa(from + pageSize)
}
