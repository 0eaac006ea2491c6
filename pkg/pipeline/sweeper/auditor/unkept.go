// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// contentsAtOnce is for how many Works one sweep checks whether the content of their
// Secrets is stored: each costs a request.
const contentsAtOnce = 10

// secretWork is the Work of a Secret.
type secretWork struct {
	*propagation.Work
	template propagation.TemplateKey
}

// unkept announces the Secrets whose stored content somebody deleted or changed: no
// source reports that.
func (a *Auditor) unkept(ctx context.Context, t *tick.Tick, books Books) error {
	var found []sweeping.Entry[secretWork]
	var on map[propagation.BindingKey]*propagation.Binding
	for _, w := range books.Works {
		template, err := w.Template()
		if err != nil || !template.IsSecret() || w.Deleting {
			continue
		}
		if on == nil {
			on = books.Page.On()
		}
		if b := on[w.Binding()]; b == nil && books.Page.Whole || b != nil && b.Deleting {
			continue
		}
		found = append(found, sweeping.Entry[secretWork]{Lane: w.Key.Cluster, ID: w.Key.Name, Value: secretWork{w, template}})
	}
	var failed error
	for _, w := range tick.Pick(t, roundContents, found, contentsAtOnce) {
		has, err := a.keeps(ctx, w.Work)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("get the contents of %s: %w", w.Key, err))
			continue
		}
		if !has {
			binding := w.Binding()
			t.Out.Emit(events.BindingScheduled, events.Data{Template: &w.template, Binding: &binding, Reason: string(applying.ReasonContentMissing)})
		}
	}
	return failed
}

// keeps reports whether the content of the Work's Secrets is stored.
func (a *Auditor) keeps(ctx context.Context, w *propagation.Work) (bool, error) {
	hashes := w.Sealed()
	if len(hashes) == 0 {
		return true, nil // the Work contains it itself, and is to be rendered
	}
	kept, err := a.hub.Contents(ctx, w.Key)
	if errors.Is(err, outcome.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, hash := range hashes {
		if !kept.Contents.Has(hash) {
			return false, nil
		}
	}
	return true, nil
}
