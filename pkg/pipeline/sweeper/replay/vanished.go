// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// recordsAtOnce is how many templates that Redis knows are read at once.
const recordsAtOnce = 500

// vanished returns the templates that are recorded and that a list does not have. That
// they were deleted was not reported, or when nobody could tell whether they exist: their
// kind was not served.
func (r *Replay) vanished(ctx context.Context, gvk schema.GroupVersionKind, c hub.Changes) ([]hub.Written, error) {
	if !c.Listed {
		return nil, nil
	}
	there := map[string]bool{}
	for _, w := range c.All {
		there[w.Key.ID()] = true
	}
	var gone []hub.Written
	err := Recorded(ctx, r.index, gvk.GroupKind(), func(t propagation.TemplateKey) error {
		if !there[t.ID()] {
			gone = append(gone, hub.Written{Change: hub.Change{Type: hub.Deleted, Key: t}})
		}
		return nil
	})
	return gone, err
}

// Recorded calls look with each template of a kind that Redis knows, some of them twice, up
// to the first error. While Redis is not built there is none: what is built knows only
// those that exist.
func Recorded(ctx context.Context, i Index, kind schema.GroupKind, look func(propagation.TemplateKey) error) error {
	for cursor := ""; ; {
		page, next, err := i.Templates(ctx, kind, cursor, recordsAtOnce)
		if errors.Is(err, outcome.ErrNotBuilt) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, t := range page {
			if err := look(t); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}
