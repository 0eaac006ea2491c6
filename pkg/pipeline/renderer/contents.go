// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// kept has the stored content of the Works' Secrets, by Work.
type kept map[propagation.WorkKey]*propagation.KeptContents

// written returns the binding's Works, the stored content of their Secrets, and the
// Works of other bindings that have their present name, by cluster. A Work of another
// binding with their former name is not in the way.
func (s *Stage) written(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, kept, map[string]*propagation.Work, error) {
	all, err := s.hub.WorksNamed(ctx, key)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list the Works of %s: %w", key, err)
	}
	var own []*propagation.Work
	others := map[string]*propagation.Work{}
	for _, w := range all {
		switch {
		case w.IsOf(key):
			own = append(own, w)
		case w.Key.Name == propagation.WorkName(key):
			others[w.Key.Cluster] = w
		}
	}
	kept, err := s.keptOf(ctx, own)
	return own, kept, others, err
}

// keptOf reads the stored content of the Works' Secrets, before it is decided what it
// has to be.
func (s *Stage) keptOf(ctx context.Context, works []*propagation.Work) (kept, error) {
	found, mu := kept{}, sync.Mutex{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for _, w := range works {
		if w.Deleting || len(w.Sealed()) == 0 {
			continue
		}
		group.Go(func() error {
			c, err := s.hub.Contents(ctx, w.Key)
			if errors.Is(err, outcome.ErrGone) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("get the contents of %s: %w", w.Key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[w.Key] = c
			return nil
		})
	}
	return found, group.Wait()
}

// keep stores the content of a Work's Secrets, once the Work itself is written, which
// owns it.
func (s *Stage) keep(ctx context.Context, step rendering.Step, w *propagation.Work, old *propagation.KeptContents) error {
	switch {
	case len(step.Contents) > 0:
		if err := s.hub.CommitContents(ctx, w, old, step.Contents); err != nil {
			return fmt.Errorf("commit the contents of %s: %w", w.Key, err)
		}
	case old != nil && len(w.Sealed()) == 0:
		if err := s.hub.DropContents(ctx, w.Key, old); err != nil {
			return fmt.Errorf("drop the contents of %s: %w", w.Key, err)
		}
	}
	return nil
}
