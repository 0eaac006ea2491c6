// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// keep makes sure that the policy's present spec is stored, so that people can go back
// to it. If it is stored already, that costs one read. If the hub refuses, because the
// namespace has a quota or is being deleted, a Kubernetes event says so and keep does
// not try again: a policy does not wait for its history.
func (s *Stage) keep(ctx context.Context, p *propagation.Policy) error {
	err := s.kept(ctx, p)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) || outcome.IsTerminal(err) || apierrors.IsForbidden(err) {
		s.hub.Record(ctx, hub.AboutPolicy(p), hub.Warning, "HistoryNotKept", "this form of the policy acts, and cannot be gone back to: "+err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep what %s says: %w", p.Key, err)
	}
	return nil
}

func (s *Stage) kept(ctx context.Context, p *propagation.Policy) error {
	now, err := s.hub.PolicyRevision(ctx, p)
	switch {
	case err == nil && now.Of(p):
		return nil
	case err != nil && !errors.Is(err, outcome.ErrGone):
		return err
	}
	all, err := s.hub.PolicyRevisions(ctx, p)
	if err != nil {
		return err
	}
	if now != nil { // it may lack the label
		all = append(all, now)
	}
	next, drop := p.Keep(all)
	for _, r := range drop {
		if err := s.hub.DropPolicyRevision(ctx, r); err != nil {
			return err
		}
	}
	if next == nil {
		return nil
	}
	return s.hub.KeepPolicyRevision(ctx, p, next)
}
