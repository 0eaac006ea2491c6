// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package standing reads what a claim depends on, for the two stages that
// decide about claims, and for those who explain them.
//
// Invariants:
//   - The index is asked first: what it is told later is conditional on what it
//     said. Then the template is read, which a decision may write, then the
//     policies that the decision depends on.
//   - A template's policies are found through the index: their number, not that
//     of all policies, is what a read costs.
//
// It must not decide or write.
package standing

import (
	"context"
	"errors"
	"fmt"

	"sluice.dev/pkg/claims"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Hub reads what a claim depends on. Each answers outcome.ErrGone for what does
// not exist.
type Hub interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Features(ctx context.Context) (propagation.Features, error)
}

// Index finds the policies that may select a template.
type Index interface {
	Look(ctx context.Context, t propagation.TemplateKey) (claims.View, error)
}

// Load reads the input of claiming for one template, and the index's view that
// a commit has to be conditional on. A template that is gone is outcome.ErrGone.
func Load(ctx context.Context, hub Hub, index Index, key propagation.TemplateKey) (claiming.Input, claims.View, error) {
	var in claiming.Input
	fail := func(err error) (claiming.Input, claims.View, error) { return claiming.Input{}, claims.View{}, err }
	view, err := index.Look(ctx, key)
	if err != nil {
		return fail(fmt.Errorf("look up the policies of %s: %w", key, err))
	}
	if in.Template, err = hub.Template(ctx, key); err != nil {
		return fail(fmt.Errorf("get %s: %w", key, err))
	}
	in.Seen = view.Seen
	if in.Features, err = hub.Features(ctx); err != nil {
		return fail(fmt.Errorf("get gates: %w", err))
	}
	for _, c := range view.Candidates {
		p, err := hub.Policy(ctx, c.Policy)
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return fail(fmt.Errorf("get %s: %w", c.Policy, err))
		}
		if propagation.Version(p.ResourceVersion) < c.Version {
			return fail(outcome.Conflict(fmt.Errorf("%s was read older than it is indexed", c.Policy)))
		}
		in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p, Since: c.SinceOf(p)})
	}
	if !in.Features.Static {
		return in, view, nil
	}
	in.Binding, err = hub.Binding(ctx, propagation.BindingOf(key))
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return fail(fmt.Errorf("get binding of %s: %w", key, err))
	}
	return in, view, nil
}
