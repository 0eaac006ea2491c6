// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
)

// templatesAtOnce is how many templates are checked in parallel before they are
// announced.
const templatesAtOnce = 16

// incomplete returns the changes that have not been handled completely. For other
// templates the source has sent the event and all stages have done their part:
// announcing them would send each through the pipeline once more.
func (r *Replay) incomplete(ctx context.Context, gvk schema.GroupVersionKind, changes []hub.Written) ([]hub.Written, error) {
	if !isTemplate(gvk) {
		return changes, nil
	}
	follows := make([]bool, len(changes))
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(templatesAtOnce)
	for i, c := range changes {
		g.Go(func() error {
			done, err := r.complete(each, c)
			follows[i] = !done
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []hub.Written
	for i, c := range changes {
		if follows[i] {
			out = append(out, c)
		}
	}
	return out, nil
}

// complete reports whether a change of a template has been handled completely.
func (r *Replay) complete(ctx context.Context, c hub.Written) (bool, error) {
	if c.Type == hub.Deleted {
		return false, nil
	}
	b, err := r.hub.Binding(ctx, propagation.BindingOf(c.Key))
	if errors.Is(err, outcome.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get the binding of %s: %w", c.Key, err)
	}
	if !b.IsOf(c.Key) {
		return false, nil
	}
	works, err := r.hub.WorksOf(ctx, b.Key)
	if err != nil {
		return false, fmt.Errorf("list the Works of %s: %w", b.Key, err)
	}
	// The template is read last: it may have changed since, and then differs from what
	// the binding has in force.
	t, settled, err := inputs.Settled(ctx, r.hub, r.index, c.Key)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) || apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil || !settled {
		return false, err
	}
	known, err := r.hub.Kinds(ctx, b)
	if err != nil {
		return false, fmt.Errorf("get the rules of kinds: %w", err)
	}
	return reporting.Complete(known, t, b, works), nil
}
