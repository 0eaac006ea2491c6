// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// held is an object that another Work has.
type held struct {
	object propagation.TemplateKey
	by     propagation.WorkKey
}

// heldBy returns the Work that has the object which in.Work wants; nil: no Work of this
// hub.
func heldBy(in applying.Input) *held {
	if in.Live.Value == nil {
		return nil
	}
	by, ok := applying.HeldBy(in.Work, in.Hub, in.Live.Value)
	if !ok {
		return nil
	}
	return &held{propagation.KeyOf(in.Manifest), by}
}

// conflicting returns the outcome for an object that another has.
func conflicting(o telling.Outcome, in applying.Input, message string) telling.Outcome {
	o.Reason, o.Message = telling.ReasonConflict, message
	if h := heldBy(in); h != nil {
		o.Holder = &h.by
	}
	return o
}

// inVain returns the objects that another Work has, according to the outcomes.
func inVain(outcomes []telling.Outcome) []held {
	var all []held
	for _, o := range outcomes {
		if o.Holder != nil {
			all = append(all, held{propagation.KeyOf(o.Manifest), *o.Holder})
		}
	}
	return all
}

// contest records w on the Works that have what w wants, and returns those that did not
// record it before. It costs one read of each of them as long as that lasts, and
// nothing otherwise.
func (s *Stage) contest(ctx context.Context, w *propagation.Work, all []held) ([]propagation.WorkKey, error) {
	var order, news []propagation.WorkKey
	objects := map[propagation.WorkKey][]propagation.TemplateKey{}
	for _, h := range all {
		if objects[h.by] == nil {
			order = append(order, h.by)
		}
		objects[h.by] = append(objects[h.by], h.object)
	}
	for _, key := range order {
		holder, err := s.there(ctx, key)
		if err != nil {
			return news, fmt.Errorf("get %s: %w", key, err)
		}
		if holder == nil {
			continue
		}
		now, err := s.hub.CommitRivals(ctx, holder, applying.Contest(holder, w, objects[key]))
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return news, fmt.Errorf("note on %s who else wants what it has: %w", key, err)
		}
		if now.ResourceVersion != holder.ResourceVersion {
			news = append(news, key)
		}
	}
	return news, nil
}

// warn records in.Work on the Work from which it is about to take the object, and returns
// that one, if it did not record it before. This comes before the write: if the process
// ends after that, the next sweep has the other Work looked at, because it has rivals.
func (s *Stage) warn(ctx context.Context, in applying.Input) ([]propagation.WorkKey, error) {
	h := heldBy(in)
	if h == nil {
		return nil, nil
	}
	return s.contest(ctx, in.Work, []held{*h})
}

// settle removes the rivals from the Work that do not want what it has any more. For a
// Work without rivals it makes no request.
func (s *Stage) settle(ctx context.Context, w *propagation.Work) (*propagation.Work, error) {
	all := w.Rivals()
	if len(all) == 0 || w.Deleting {
		return w, nil
	}
	rest, known := []propagation.Rival{}, map[propagation.WorkKey]*propagation.Work{}
	for _, r := range all {
		key := r.Work(w)
		o, asked := known[key]
		if !asked {
			var err error
			if o, err = s.there(ctx, key); err != nil {
				return nil, fmt.Errorf("get %s: %w", key, err)
			}
			known[key] = o
		}
		if o != nil && applying.Contests(w, o, r) {
			rest = append(rest, r)
		}
	}
	if slices.Equal(rest, all) {
		return w, nil
	}
	now, err := s.hub.CommitRivals(ctx, w, rest)
	if err != nil {
		return nil, fmt.Errorf("note on %s who else wants what it has: %w", w.Key, err)
	}
	return now, nil
}
