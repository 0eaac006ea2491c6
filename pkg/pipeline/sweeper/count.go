// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
)

// countEvery is how often the policies' statuses are brought up to date at
// most: they are for people, and never worth a write for each template.
const countEvery = 5 * time.Second

// countFor is how long one sweep writes them; the next goes on. A sweep that
// takes its time keeps others waiting.
const countFor = time.Second

// counting is how far the policies' templates are counted.
type counting struct {
	// began is when the last count did.
	began time.Time
	// after is the policy that the last sweep came to; empty: it came to the end.
	after string
}

// count writes on each policy how its templates are doing, and which of their
// removals are held.
func (s *Stage) count(ctx context.Context, bindings []*propagation.Binding, held map[propagation.Claim]string) error {
	now := s.now()
	if s.counting.after == "" {
		if now.Sub(s.counting.began) < countEvery {
			return nil
		}
		s.counting.began = now
	}
	policies, err := s.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	slices.SortFunc(policies, func(a, b *propagation.Policy) int { return strings.Compare(a.Key.ID(), b.Key.ID()) })
	counts := reporting.Counts(bindings)
	var failed error
	for _, p := range policies {
		if p.Key.ID() <= s.counting.after {
			continue
		}
		if s.now().Sub(now) > countFor {
			return failed
		}
		s.counting.after = p.Key.ID()
		failed = errors.Join(failed, s.countOne(ctx, p, counts[p.Claim()], held[p.Claim()]))
	}
	s.counting.after = ""
	return failed
}

// countOne writes the counts of one policy, which kinds it names in vain, and what is
// held, if they are others.
func (s *Stage) countOne(ctx context.Context, p *propagation.Policy, counts policyv1alpha1.TemplateCounts, kept string) error {
	held, err := s.index.HeldCount(ctx, p.Key)
	if err != nil {
		return fmt.Errorf("count the templates of %s: %w", p.Key, err)
	}
	status := p.Status
	status.Templates = counts
	if waiting := int32(held) - status.Templates.Claimed; waiting > 0 { //nolint:gosec // a count of objects
		status.Templates.Claimed += waiting
		status.Templates.Pending += waiting
	}
	var missing []propagation.Right
	if s.rights != nil {
		if missing, err = s.rights.Missing(ctx, p); err != nil {
			return fmt.Errorf("ask for the rights to what %s selects: %w", p.Key, err)
		}
	}
	list, changed := reporting.PolicyConditions(p, missing, kept, s.now())
	if status.Templates == p.Status.Templates && !changed {
		return nil
	}
	status.Conditions = list
	status.ObservedGeneration = p.Generation
	err = s.hub.CommitPolicyStatus(ctx, p, status)
	if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
		return nil // it changed meanwhile: the next count will do
	}
	if err != nil {
		return fmt.Errorf("commit status of %s: %w", p.Key, err)
	}
	return nil
}
