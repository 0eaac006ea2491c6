// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/suspension"
)

// Name of the stage.
const Name = "dependencies"

// Stage is the dependencies stage.
type Stage struct {
	hub         Hub
	suspensions Suspensions
}

// New makes the stage.
func New(h Hub, b Suspensions) *Stage { return &Stage{hub: h, suspensions: b} }

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle attaches what a binding's content refers to, and detaches what it no longer
// refers to. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	msg, err := events.DecodeFor(e, events.FieldTemplate, events.FieldBinding)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	parent, err := s.hub.Binding(ctx, *msg.Binding)
	if errors.Is(err, outcome.ErrGone) {
		return s.orphans(ctx, e, *msg.Template, *msg.Binding)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", msg.Binding, err)
	}
	if e.Type() == events.BindingRemoved { // it was created again, and Redis knows the former one
		if err := s.inherit(ctx, parent); err != nil {
			return nil, err
		}
	}
	out := events.From(Name, e)
	strays, err := s.strays(ctx, out, parent, msg.Reason == events.ReasonFollowsNobody)
	if err != nil {
		return nil, err
	}
	if strays {
		return out.Events() // the binding has changed, and will be handled again
	}
	before := dependencies.Recorded(parent)
	wanted, to, err := s.wanted(ctx, out, *msg.Template, parent)
	if err != nil {
		return nil, err
	}
	if len(before) == 0 && len(wanted) == 0 {
		return out.Events()
	}
	// Recorded first, so that everything that is attached can be found again.
	if parent, err = s.record(ctx, parent, append(slices.Clone(before), wanted...)); err != nil {
		return nil, err
	}
	for _, key := range wanted {
		if err := s.attach(ctx, out, key, parent, to); err != nil {
			return nil, err
		}
	}
	for _, key := range before {
		if slices.Contains(wanted, key) {
			continue
		}
		held, err := s.release(ctx, out, key, parent)
		if err != nil {
			return nil, err
		}
		if held {
			wanted = append(wanted, key)
		}
	}
	if parent, err = s.record(ctx, parent, wanted); err != nil {
		return nil, err
	}
	s.found(ctx, parent, before)
	return out.Events()
}

// strays detaches a binding from parents that do not refer to it: when a parent's
// binding was deleted, the record of what was attached to it was lost. A parent's
// binding that is missing may be created again soon, and one that was created again may
// not have recorded its references yet. So such parents count only when the sweeper has
// found them like that for a while (late), and a missing one only if no Work of it is
// left: where members have a template, they keep what it refers to. A binding that was
// kept only for a suspension is deleted when that ends. strays reports whether it found
// anything.
func (s *Stage) strays(ctx context.Context, out *events.Batch, b *propagation.Binding, late bool) (bool, error) {
	var failed error
	stays := map[propagation.BindingKey]bool{}
	stray := dependencies.Stray(b, func(key propagation.BindingKey) *propagation.Binding {
		p, err := s.hub.Binding(ctx, key)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			failed = fmt.Errorf("get %s: %w", key, err)
		}
		if p == nil && late && failed == nil {
			stays[key], failed = s.outlived(ctx, key)
			return p
		}
		stays[key] = !late && (p == nil || p.Spec.PropagateDeps && len(dependencies.Recorded(p)) == 0)
		return p
	})
	if failed != nil {
		return false, failed
	}
	stray = slices.DeleteFunc(stray, func(key propagation.BindingKey) bool { return stays[key] })
	for _, parent := range stray {
		if err := s.detach(ctx, out, b.Template(), parent); err != nil {
			return false, err
		}
	}
	if len(stray) > 0 || !dependencies.Left(b) {
		return len(stray) > 0, nil
	}
	if len(b.Spec.Clusters) > 0 || b.AwaitsTemplate() {
		return true, s.commit(ctx, out, b, b)
	}
	if late {
		return true, s.deleteUnneeded(ctx, out, b)
	}
	return true, nil
}

// outlived reports whether Works are left of a binding that is missing.
func (s *Stage) outlived(ctx context.Context, key propagation.BindingKey) (bool, error) {
	works, err := s.hub.WorksOf(ctx, key)
	if err != nil {
		return false, fmt.Errorf("list the Works of %s: %w", key, err)
	}
	return len(works) > 0, nil
}

// attaching is how a dependency's binding is made to require its parent's clusters.
type attaching func(t *propagation.Template, dependency, parent *propagation.Binding) *propagation.Binding

// wanted returns what the binding's frozen content refers to, if that is to be
// propagated along, and how it is attached.
func (s *Stage) wanted(ctx context.Context, out *events.Batch, template propagation.TemplateKey, parent *propagation.Binding) ([]propagation.TemplateKey, attaching, error) {
	if !parent.Spec.PropagateDeps || parent.ActedHash() == "" {
		return nil, dependencies.Attach, nil
	}
	rev, err := s.hub.Revision(ctx, parent, parent.Revision())
	if errors.Is(err, outcome.ErrGone) {
		// The content is not stored yet, or was lost. The gate emits an event when it
		// has stored it again; until then everything stays as it is.
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "RevisionMissing"})
		return dependencies.Recorded(parent), dependencies.Attach, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get revision %s: %w", parent.Revision(), err)
	}
	known, err := s.hub.Kinds(ctx, parent)
	if err != nil {
		return nil, nil, fmt.Errorf("get the rules of kinds: %w", err)
	}
	kind := known.Of(rev.Content)
	found, err := kind.References(rev.Content)
	switch {
	case kind.Undefined() != nil:
		return dependencies.Recorded(parent), dependencies.Keep, nil
	case err != nil: // not known: what is attached stays attached
		return dependencies.Recorded(parent), dependencies.Attach, nil
	}
	return found, dependencies.Attach, nil
}

// record writes to the binding what it refers to.
func (s *Stage) record(ctx context.Context, parent *propagation.Binding, keys []propagation.TemplateKey) (*propagation.Binding, error) {
	next := dependencies.Record(parent, keys)
	if next == parent {
		return parent, nil
	}
	b, err := s.hub.CommitBinding(ctx, parent, next)
	if err != nil {
		return nil, fmt.Errorf("record the dependencies of %s: %w", parent.Key, err)
	}
	return b, nil
}

// attach makes the dependency require the parent's clusters, and inherit the parent's
// suspensions.
func (s *Stage) attach(ctx context.Context, out *events.Batch, key propagation.TemplateKey, parent *propagation.Binding, to attaching) error {
	b, err := s.hub.Binding(ctx, propagation.BindingOf(key))
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get the binding of %s: %w", key, err)
	}
	if err != nil {
		b = nil
	}
	if b != nil && !b.IsOf(key) {
		return nil // the binding belongs to another template, which is not attached
	}
	t, err := s.hub.Template(ctx, key)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		t, err = &propagation.Template{Key: key}, nil // it may be created later
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	next, err := s.govern(ctx, to(t, b, parent), parent)
	if err != nil {
		return err
	}
	if err := s.inherit(ctx, next); err != nil {
		return err
	}
	if next != b {
		made, err := s.hub.CommitBinding(ctx, b, next)
		if err != nil {
			return fmt.Errorf("attach %s: %w", next.Key, err)
		}
		s.tell(ctx, b, made)
	}
	out.Emit(events.TemplateTouched, events.Data{Template: &key, Reason: "RequiredByAnother"})
	return nil
}

// inherit sets in Redis the suspensions that the binding inherits.
func (s *Stage) inherit(ctx context.Context, b *propagation.Binding) error {
	if err := s.suspensions.SetBinding(ctx, b.Key, suspension.Suspension{Clusters: b.InheritedSuspensions()}); err != nil {
		return fmt.Errorf("set the suspension of %s: %w", b.Key, err)
	}
	return nil
}

// release detaches the dependency from the parent, except in clusters where the parent
// is suspended; it reports whether there are such clusters.
func (s *Stage) release(ctx context.Context, out *events.Batch, key propagation.TemplateKey, parent *propagation.Binding) (bool, error) {
	next, err := s.loosen(ctx, out, key, func(b *propagation.Binding) *propagation.Binding { return dependencies.Release(b, parent) })
	return next != nil && dependencies.Requires(next, parent.Key), err
}

// detach detaches the dependency from a parent that is gone.
func (s *Stage) detach(ctx context.Context, out *events.Batch, key propagation.TemplateKey, parent propagation.BindingKey) error {
	_, err := s.loosen(ctx, out, key, func(b *propagation.Binding) *propagation.Binding { return dependencies.Detach(b, parent) })
	return err
}

// loosen changes the dependency's binding, and returns the changed one; nil: there is
// none.
func (s *Stage) loosen(ctx context.Context, out *events.Batch, key propagation.TemplateKey, change func(*propagation.Binding) *propagation.Binding) (*propagation.Binding, error) {
	b, err := s.hub.Binding(ctx, propagation.BindingOf(key))
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the binding of %s: %w", key, err)
	}
	if !b.IsOf(key) {
		return nil, nil
	}
	next, err := s.govern(ctx, change(b), nil)
	if err != nil {
		return nil, err
	}
	return next, s.commit(ctx, out, b, next)
}

// commit writes the dependency's binding. If nothing needs the binding any more, it
// first names no cluster, which is the proof by which members lose the object; a
// missing binding would prove nothing. It is deleted some time later (deleteUnneeded),
// or at once if its template does not exist. Redis comes first: once the binding is
// written, nobody finds it among those that have to be detached, and until then it says
// itself where it is suspended.
func (s *Stage) commit(ctx context.Context, out *events.Batch, b, next *propagation.Binding) error {
	key := b.Template()
	if err := s.inherit(ctx, next); err != nil {
		return err
	}
	if !dependencies.Needed(next) && b.AwaitsTemplate() {
		if err := s.hub.DeleteBinding(ctx, b); err != nil {
			return fmt.Errorf("delete %s: %w", b.Key, err)
		}
		out.Emit(events.BindingRemoved, events.Data{Template: &key, Binding: &b.Key, Reason: "NotRequiredAnyMore"})
	} else if next = dependencies.Nowhere(next); next != b {
		if _, err := s.hub.CommitBinding(ctx, b, next); err != nil {
			return fmt.Errorf("detach %s: %w", b.Key, err)
		}
		s.tell(ctx, b, next)
	}
	if !dependencies.Needed(next) && !b.AwaitsTemplate() {
		out.Emit(events.BindingScheduled, events.Data{Template: &key, Binding: &b.Key, Reason: "NotRequiredAnyMore"})
	}
	out.Emit(events.TemplateTouched, events.Data{Template: &key, Reason: "NotRequiredAnyMore"})
	return nil
}

// deleteUnneeded deletes a binding that nothing needs and of which no Work is left.
func (s *Stage) deleteUnneeded(ctx context.Context, out *events.Batch, b *propagation.Binding) error {
	works, err := s.hub.WorksOf(ctx, b.Key)
	if err != nil {
		return fmt.Errorf("list the Works of %s: %w", b.Key, err)
	}
	if len(works) > 0 || len(b.TargetClusters()) > 0 {
		return nil
	}
	if err := s.hub.DeleteBinding(ctx, b); err != nil {
		return fmt.Errorf("delete %s: %w", b.Key, err)
	}
	out.Emit(events.BindingRemoved, events.Data{Template: new(b.Template()), Binding: &b.Key, Reason: "NotRequiredAnyMore"})
	return nil
}

// orphans updates the bindings on both sides of one that is gone. Its dependencies are
// detached if its template is gone, too. The bindings that depend on it are handled
// again, since the template may be created again. Objects and their references are
// always in the same namespace.
func (s *Stage) orphans(ctx context.Context, e event.Event, template propagation.TemplateKey, gone propagation.BindingKey) ([]event.Event, error) {
	if gone.Namespace == "" {
		return nil, nil
	}
	if err := s.inherit(ctx, &propagation.Binding{Key: gone}); err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	if err := s.unfollow(ctx, out, template, gone); err != nil {
		return nil, err
	}
	parents, err := s.hub.BindingsReferringTo(ctx, template)
	if err != nil {
		return nil, fmt.Errorf("list the bindings that refer to %s: %w", template, err)
	}
	for _, p := range parents {
		out.Emit(events.BindingScheduled, events.Data{Template: new(p.Template()), Binding: &p.Key, Reason: "DependencyRemoved"})
	}
	return out.Events()
}

// unfollow detaches what the template whose binding is gone refers to, if the template is
// gone, too.
func (s *Stage) unfollow(ctx context.Context, out *events.Batch, template propagation.TemplateKey, gone propagation.BindingKey) error {
	if propagation.BindingOf(template) != gone {
		return nil
	}
	required, err := s.hub.BindingsRequiredBy(ctx, gone)
	if err != nil {
		return fmt.Errorf("list what %s requires: %w", gone, err)
	}
	if len(required) == 0 {
		return nil
	}
	_, err = s.hub.TemplateNow(ctx, template)
	if err == nil || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get %s: %w", template, err)
	}
	if kept, failed := s.kept(ctx, err, gone); failed != nil || kept {
		return failed
	}
	for _, b := range required {
		if err := s.detach(ctx, out, b.Template(), gone); err != nil {
			return err
		}
	}
	return nil
}

// kept reports whether members keep what the template brought, which is gone: it went with
// the former definition of its kind.
func (s *Stage) kept(ctx context.Context, gone error, key propagation.BindingKey) (bool, error) {
	defined := propagation.DefinedSince(gone)
	if defined.IsZero() {
		return false, nil
	}
	works, err := s.hub.WorksOf(ctx, key)
	if err != nil {
		return false, fmt.Errorf("list the Works of %s: %w", key, err)
	}
	return slices.ContainsFunc(works, func(w *propagation.Work) bool { return w.Predates(defined) }), nil
}
