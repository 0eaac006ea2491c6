// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// Binding announces the template of a binding that somebody else wrote or deleted: the
// gate corrects the binding, or deletes one that nothing needs.
func (a *Auditor) Binding(ctx context.Context, e event.Event, key propagation.BindingKey) ([]event.Event, error) {
	out := events.From(tick.Stage, e)
	reason := "BindingDeleted"
	b, err := a.hub.Binding(ctx, key)
	switch {
	case err == nil && propagation.BindingOf(b.Template()) != key:
		reason = "BindingChanged" // somebody edited whose it is: that is found as if it were gone
	case err == nil:
		template := b.Template()
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "BindingChanged"})
		if named := b.Named(); named.ID() != template.ID() && propagation.BindingOf(named) == key {
			out.Emit(events.TemplateTouched, events.Data{Template: &named, Reason: "BindingChanged"}) // the uid tells whose it is
		}
		if e.Type() == events.ResourceDeleted && dependencies.Serves(template) {
			// What the former one inherited from bindings that are gone, too, ends.
			out.Emit(events.BindingRemoved, events.Data{Template: &template, Binding: &key, Reason: reason})
		}
		// Somebody edited it, or it was created again before its deletion was seen.
		if err := a.unfollowed(ctx, out, template, b); err != nil {
			return nil, err
		}
		return out.Events()
	case !errors.Is(err, outcome.ErrGone):
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	works, err := a.hub.WorksOf(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("list the Works of %s: %w", key, err)
	}
	var told propagation.TemplateKey
	for _, w := range works {
		if template, err := w.Template(); err == nil { // otherwise it is not Sluice's
			told = template
			out.Emit(events.TemplateTouched, events.Data{Template: &told, Reason: reason})
			break
		}
	}
	if err := a.unfollowed(ctx, out, told, b); err != nil {
		return nil, err
	}
	if key.Name == told.Name+"-"+strings.ToLower(told.Kind) {
		return out.Events() // no other template's binding has such a name
	}
	if err := a.unbound(ctx, out, key, told); err != nil {
		return nil, err
	}
	return out.Events()
}

// unfollowed announces the bindings that depend on a template and are not recorded on
// its own binding, b, with all of their clusters; nil: there is none. If a policy holds
// the template, its binding is created again before anybody notices that the former one
// is gone, and then it records no dependents.
func (a *Auditor) unfollowed(ctx context.Context, out *events.Batch, template propagation.TemplateKey, b *propagation.Binding) error {
	if !dependencies.Serves(template) || template.Namespace == "" {
		return nil
	}
	parents, err := a.hub.BindingsReferringTo(ctx, template)
	if err != nil {
		return fmt.Errorf("list the bindings that refer to %s: %w", template, err)
	}
	if b == nil {
		b = &propagation.Binding{}
	}
	announceParents(out, dependencies.Behind(b, template, slices.Values(parents)))
	return nil
}

// unbound announces the templates to which the missing binding may have belonged, if a
// policy holds them; told is the one that its Works named. Each of them needs a
// binding, or waits for one. If two templates have the same binding name, one waits
// until the other's binding is gone; that was recorded on the binding, which the
// garbage collector may have deleted before the gate read it. Which templates depend on
// these is known to their own bindings.
func (a *Auditor) unbound(ctx context.Context, out *events.Batch, key propagation.BindingKey, told propagation.TemplateKey) error {
	policies, err := a.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	kinds := matching.Kinds(policies)
	for _, k := range dependencies.Kinds {
		if gvk := k.GroupVersionKind(); !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	templates := propagation.TemplatesOf(key, kinds)
	if len(templates) == 0 {
		return a.heldUnder(ctx, out, key, policies, told)
	}
	for _, t := range templates {
		if t.ID() == told.ID() {
			continue
		}
		view, err := a.index.Look(ctx, t)
		if err != nil {
			return fmt.Errorf("ask who holds %s: %w", t, err)
		}
		if view.Holder.Held() {
			out.Emit(events.TemplateTouched, events.Data{Template: &t, Reason: "BindingDeleted"})
		}
		if dependencies.Serves(t) {
			out.Emit(events.BindingRemoved, events.Data{Template: &t, Binding: &key, Reason: "BindingDeleted"})
		}
	}
	return nil
}

// heldAtOnce is how many templates one request reads.
const heldAtOnce = 500

// heldUnder announces the templates whose binding has this name although the name does
// not show them: they are looked for among all that policies hold there.
func (a *Auditor) heldUnder(ctx context.Context, out *events.Batch, key propagation.BindingKey, policies []*propagation.Policy, told propagation.TemplateKey) error {
	for _, p := range policies {
		if p.Key.Scope == propagation.Namespaced && p.Key.Namespace != key.Namespace {
			continue
		}
		for cursor, begun := "", false; !begun || cursor != ""; begun = true {
			held, next, err := a.index.Held(ctx, p.Key, cursor, heldAtOnce)
			if err != nil {
				return fmt.Errorf("list what %s holds: %w", p.Key, err)
			}
			cursor = next
			for _, t := range held {
				if propagation.BindingOf(t) == key && t.ID() != told.ID() {
					out.Emit(events.TemplateTouched, events.Data{Template: &t, Reason: "BindingDeleted"})
				}
			}
		}
	}
	return nil
}

// Work announces a Work that somebody else wrote or deleted.
func (a *Auditor) Work(ctx context.Context, e event.Event, key propagation.WorkKey) ([]event.Event, error) {
	w, err := a.hub.Work(ctx, key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil // because of its finalizer, the applier has handled it
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	out := events.From(tick.Stage, e)
	d, err := aboutWork(w)
	d.Reason = "WorkChanged"
	switch {
	case err != nil && w.PlacementNamed() != "": // its labels were removed, or it is not Sluice's
		out.Emit(events.PlacementBound, events.Data{Placement: w.PlacementNamed(), Cluster: key.Cluster, Reason: d.Reason})
	case err != nil:
		return nil, nil // not Sluice's
	case w.Deleting:
		out.Emit(events.WorkRemoved, d)
	case d.Placement != "":
		out.Emit(events.PlacementBound, events.Data{Placement: d.Placement, Cluster: d.Cluster, Reason: d.Reason})
	default:
		out.Emit(events.BindingScheduled, events.Data{Template: d.Template, Binding: d.Binding, Reason: d.Reason})
	}
	return out.Events()
}

// aboutWork returns the event data for a Work. One that somebody copied under a name that no
// placement's Works have is nobody's. If it is being deleted, the finalizer that was copied
// with it has to be removed, for the sake of which it counts as that of a placement of its
// own name.
func aboutWork(w *propagation.Work) (events.Data, error) {
	template, err := w.Template()
	if nobodys := w.Key.Form == propagation.PlacementForm && w.PlacementNamed() == ""; nobodys && w.Deleting && !w.LetGo() {
		own := propagation.PlacementKey(w.Key.Name)
		return events.Data{Template: &own, Work: &w.Key, WorkVersion: w.ResourceVersion, Placement: w.Key.Name, Cluster: w.Key.Cluster}, nil
	}
	if err != nil {
		return events.Data{}, err
	}
	d := events.Data{Template: &template, Work: &w.Key, WorkVersion: w.ResourceVersion, Placement: w.Placement(), Cluster: w.Key.Cluster}
	if d.Placement == "" {
		d.Binding = new(w.Binding())
	}
	return d, nil
}
