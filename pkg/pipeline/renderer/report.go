// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
)

// condition says on the binding what could not be rendered, and why.
func (s *Stage) condition(ctx context.Context, b *propagation.Binding, failures []rendering.Failure) error {
	if len(failures) == 0 && !conditions.Has(b.Status.Conditions, rendering.ConditionRendered) {
		return nil
	}
	c := rendering.Rendered(failures)
	list, changed := conditions.Set(b.Status.Conditions, c, s.now())
	if !changed {
		return nil
	}
	status := b.Status
	status.Conditions = list
	if _, err := s.hub.CommitBindingStatus(ctx, b, status); err != nil {
		return fmt.Errorf("commit status of %s: %w", b.Key, err)
	}
	if len(failures) > 0 {
		s.hub.Record(ctx, hub.AboutBinding(b), hub.Warning, c.Reason, c.Message)
	}
	return nil
}

// pageSize is how many bindings one event of a fan-out announces.
const pageSize = 100

// overrides announces the bindings that an override may concern, page by page in
// the order of their keys: one of a namespace those of that namespace, one of the
// cluster all. An override that is gone cannot tell more of whom it concerned,
// and who is not concerned renders the same and is not written.
func (s *Stage) overrides(ctx context.Context, e event.Event, of propagation.PolicyKey, from string) ([]event.Event, error) {
	all, err := s.concerned(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	slices.SortFunc(all, func(a, b *propagation.Binding) int { return strings.Compare(a.Key.ID(), b.Key.ID()) })
	out, announced := events.From(Name, e), 0
	for _, b := range all {
		if b.Key.ID() <= from || b.ActedHash() == "" {
			continue
		}
		template := b.Template()
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "OverridesChanged"})
		if announced++; announced == pageSize {
			out.Emit(events.OverridesChanged, events.Data{Policy: &of, Continue: b.Key.ID(), Reason: "MoreBindings"})
			break
		}
	}
	return out.Events()
}

func (s *Stage) concerned(ctx context.Context, override propagation.PolicyKey) ([]*propagation.Binding, error) {
	if override.Scope == propagation.Namespaced {
		return s.hub.BindingsIn(ctx, override.Namespace)
	}
	return s.hub.Bindings(ctx)
}
