// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// strays announces the bindings of dependencies whose parents do not refer to them, those
// that nothing needs, and the parents of those that somebody cut off from a cluster. Two
// sweeps have to find them so, with no write to the binding in between: a parent's
// missing binding is created again meanwhile.
func (a *Auditor) strays(ctx context.Context, t *tick.Tick, books Books) error {
	parents, failed := a.parents(ctx, books.Page)
	if failed != nil {
		return failed
	}
	find := func(key propagation.BindingKey) *propagation.Binding { return parents[key] }
	var suspects []tick.Suspect[*propagation.Binding]
	for _, b := range books.Page.Bindings {
		if len(dependencies.Stray(b, find)) > 0 || dependencies.Left(b) || len(behind(b, find)) > 0 {
			suspects = append(suspects, suspect(b))
		}
	}
	found, failed := a.current(ctx, books.Page, tick.Twice(t, roundStrays, suspects, books.Page.Most()))
	for _, b := range found {
		template := b.Template()
		announceParents(t.Out, behind(b, find))
		if len(dependencies.Stray(b, find)) > 0 || dependencies.Left(b) {
			t.Out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, Reason: events.ReasonFollowsNobody})
		}
	}
	return failed
}

// behind returns those of the parents that the binding names that take it along further
// than it says.
func behind(b *propagation.Binding, find func(propagation.BindingKey) *propagation.Binding) []*propagation.Binding {
	return dependencies.Behind(b, b.Template(), func(yield func(*propagation.Binding) bool) {
		for _, r := range b.Spec.RequiredBy {
			if p := find(propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}); p != nil && !yield(p) {
				return
			}
		}
	})
}

// announceParents emits an event for each of the bindings, which makes them take along what
// they refer to.
func announceParents(out *events.Batch, parents []*propagation.Binding) {
	for _, p := range parents {
		out.Emit(events.BindingScheduled, events.Data{Template: new(p.Template()), Binding: &p.Key, Reason: "DependencyRemoved"})
	}
}

// parents returns the bindings on which those of the page may depend: the others on the
// page, and the linked ones in the namespaces that continue on other pages, which are
// two at most.
func (a *Auditor) parents(ctx context.Context, p *page.Page) (map[propagation.BindingKey]*propagation.Binding, error) {
	parents := p.On()
	if p.Whole {
		return parents, nil
	}
	beyond := map[string]bool{}
	for _, b := range p.Bindings {
		for _, r := range b.Spec.RequiredBy {
			if parents[propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}] == nil {
				beyond[r.Namespace] = true
			}
		}
	}
	for namespace := range beyond {
		linked, err := a.hub.LinkedBindings(ctx, namespace)
		if err != nil {
			return nil, fmt.Errorf("list the linked bindings of %s: %w", namespace, err)
		}
		for _, b := range linked {
			parents[b.Key] = b
		}
	}
	return parents, nil
}

// suspect returns a binding as a suspect, in the version in which it was read.
func suspect(b *propagation.Binding) tick.Suspect[*propagation.Binding] {
	return tick.Suspect[*propagation.Binding]{Entry: entry(b), Version: b.ResourceVersion}
}

// entry returns a binding in the lane of its namespace.
func entry(b *propagation.Binding) sweeping.Entry[*propagation.Binding] {
	return sweeping.Entry[*propagation.Binding]{Lane: tick.LaneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b}
}
