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

// kept is what is kept of the Secrets that Works carry, by Work.
type kept map[propagation.WorkKey]*propagation.KeptContents

// written are the Works of the binding, what is kept beside them, and those of
// others that have their name, by cluster. One of another that has their former name
// is in nobody's way.
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

// keptOf reads what is kept beside the Works, before anything is decided on what
// it has to be.
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

// keep keeps what the Secrets of a Work hold beside it, once the Work itself is
// written: it owns them.
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
