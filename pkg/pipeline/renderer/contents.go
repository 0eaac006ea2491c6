// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// kept has the stored content of the Works' Secrets, or why it could not be read, by Work.
type kept map[propagation.WorkKey]stored

type stored struct {
	contents *propagation.KeptContents
	err      error
}

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
	return own, s.keptOf(ctx, own), others, nil
}

// keptOf reads the stored content of the Works' Secrets, before it is decided what it
// has to be.
func (s *Stage) keptOf(ctx context.Context, works []*propagation.Work) kept {
	works = slices.DeleteFunc(slices.Clone(works), func(w *propagation.Work) bool { return w.Deleting || len(w.Sealed()) == 0 })
	all := make([]stored, len(works))
	_ = each(ctx, len(works), func(i int) error { // errors are in all
		all[i].contents, all[i].err = s.contents(ctx, works[i].Key)
		return nil
	})
	found := kept{}
	for i, w := range works {
		found[w.Key] = all[i]
	}
	return found
}

func (s *Stage) contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error) {
	c, err := s.hub.Contents(ctx, key)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("get the contents of %s: %w", key, err)
	}
	return c, nil
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
