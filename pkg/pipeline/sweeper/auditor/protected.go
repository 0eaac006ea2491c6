// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// protection announces the bindings whose Works have a wrong record of whether their
// namespace is protected from deletion: no other event tells that somebody added or
// removed that label.
func (a *Auditor) protection(ctx context.Context, t *tick.Tick, books Books) error {
	names, err := a.hub.Namespaces(ctx, propagation.LabelDeletionProtected+"="+propagation.DeletionProtected)
	if err != nil {
		return fmt.Errorf("list the protected namespaces: %w", err)
	}
	protected := make(map[string]bool, len(names))
	for _, n := range names {
		protected[n] = true
	}
	stale := make(map[propagation.BindingKey]bool)
	for _, w := range books.Works {
		if key := w.Binding(); w.Key.Form == propagation.PolicyForm && key.Namespace != "" && !w.Deleting {
			stale[key] = stale[key] || w.Shielded() != protected[key.Namespace]
		}
	}
	var found []sweeping.Entry[*propagation.Binding]
	for _, b := range books.Page.Bindings {
		if stale[b.Key] && !b.Deleting && b.ActedHash() != "" {
			found = append(found, entry(b))
		}
	}
	for _, b := range tick.Pick(t, roundProtection, found, books.Page.Most()) {
		template := b.Template()
		t.Out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "ProtectionChanged"})
	}
	return nil
}
