// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// siblings returns a function that reads the Works that the placement of w has in its
// member, once.
func (s *Stage) siblings(ctx context.Context, w *propagation.Work) func() ([]*propagation.Work, error) {
	return sync.OnceValues(func() ([]*propagation.Work, error) {
		all, err := s.hub.WorksOfPlacementOn(ctx, w.Placement(), w.Key.Cluster)
		if err != nil {
			return nil, fmt.Errorf("list the Works of placement %s in %s: %w", w.Placement(), w.Key.Cluster, err)
		}
		return all, nil
	})
}

// anothers decides about an object that is marked as another Work's: it belongs to this
// Work by now (ours), and is then taken over whatever the strategy says, or conflict says
// whose it is. One that was left behind is decided on like one that is not marked.
func (s *Stage) anothers(ctx context.Context, in *applying.Input, siblings func() ([]*propagation.Work, error)) (ours bool, conflict string, err error) {
	live, w := in.Live.Value, in.Work
	if live == nil || live.Work == "" || live.Ours(w) {
		return false, "", nil
	}
	if ours, err = moved(*in, propagation.KeyOf(in.Manifest), siblings); err != nil {
		return false, "", err
	}
	if ours {
		in.Known, in.TakeOver = nil, applying.TakeOverAlways
		return true, "", nil
	}
	left, err := s.leftBehind(ctx, *in)
	if err != nil {
		return false, "", err
	}
	if left {
		in.Known = nil
		return false, "", nil
	}
	return false, fmt.Sprintf("%s in %s belongs to the Work %s, which another placement or policy has made", refOf(in.Manifest), w.Key.Cluster, live.Work), nil
}

// leftBehind reports whether the object is marked as a Work's that the hub does not have
// any more. A Work goes when its objects have left, or were let go: nobody has that
// object.
func (s *Stage) leftBehind(ctx context.Context, in applying.Input) (bool, error) {
	h := heldBy(in)
	if h == nil {
		return false, nil
	}
	switch _, err := s.hub.WorkNow(ctx, h.by); {
	case errors.Is(err, outcome.ErrNotServed): // says nothing of the Work
		return false, nil
	case errors.Is(err, outcome.ErrGone):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get %s: %w", h.by, err)
	}
	return false, nil
}

// moved reports whether the object is marked as a Work's of the same placement that
// does not contain it any more. Then it belongs to this Work: objects move between the
// parts of a snapshot.
func moved(in applying.Input, key propagation.TemplateKey, siblings func() ([]*propagation.Work, error)) (bool, error) {
	live, w := in.Live.Value, in.Work
	if live.Hub != "" && live.Hub != in.Hub || !propagation.OwnsAsPlacement(w.Placement(), live.Work) {
		return false, nil
	}
	all, err := siblings()
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(all, func(o *propagation.Work) bool {
		return slices.Contains(o.Owners(), live.Work) && !o.Deleting && telling.Says(o, key)
	}), nil
}
