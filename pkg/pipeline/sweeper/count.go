// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
)

// countEvery is how often the policies' statuses are brought up to date at
// most: they are for people, and never worth a write for each template.
const countEvery = 5 * time.Second

// count writes on each policy how its templates are doing.
func (s *Stage) count(ctx context.Context, bindings []*propagation.Binding) error {
	now := s.now()
	if last := s.counted.Load(); last != nil && now.Sub(*last) < countEvery {
		return nil
	}
	s.counted.Store(&now)
	policies, err := s.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	counts := reporting.Counts(bindings)
	for _, p := range policies {
		held, err := s.index.HeldCount(ctx, p.Key)
		if err != nil {
			return fmt.Errorf("count the templates of %s: %w", p.Key, err)
		}
		status := p.Status
		status.Templates = counts[p.Claim()]
		if waiting := int32(held) - status.Templates.Claimed; waiting > 0 { //nolint:gosec // a count of objects
			status.Templates.Claimed += waiting
			status.Templates.Pending += waiting
		}
		if status.Templates == p.Status.Templates {
			continue
		}
		status.ObservedGeneration = p.Generation
		err = s.hub.CommitPolicyStatus(ctx, p, status)
		if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
			continue // it changed meanwhile: the next count will do
		}
		if err != nil {
			return fmt.Errorf("commit status of %s: %w", p.Key, err)
		}
	}
	return nil
}
