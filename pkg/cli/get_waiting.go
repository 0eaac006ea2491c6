// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// waiting returns the templates that a policy holds and that were never propagated: of
// the kind that the arguments name, or of those that policies name.
func (o *getOptions) waiting(ctx context.Context, h *hub.Hub, namespace string, bindings []*propagation.Binding, without *unlisted) ([]summary, error) {
	bound, named := map[string]bool{}, map[propagation.BindingKey]*propagation.Binding{}
	for _, b := range bindings {
		bound[b.Template().ID()], named[b.Key] = true, b
	}
	waits := func(id string, claim propagation.Claim) bool { return claim.Held() && !bound[id] }
	kinds, err := o.kindsWaiting(ctx, h, namespace, waits, without)
	if err != nil {
		return nil, err
	}
	var all []explaining.Subject
	for _, gvk := range kinds {
		without.add(gvk, eachTemplate(ctx, h, gvk, namespace, func(t *propagation.Template) {
			if waits(t.Key.ID(), t.Claim) && o.selector.Matches(labels.Set(t.Labels)) {
				bound[t.Key.ID()] = true // policies may name several versions of its kind
				all = append(all, explaining.Subject{Template: t, Binding: named[propagation.BindingOf(t.Key)]})
			}
		}))
	}
	return unbound(ctx, h, all)
}

// kindsWaiting returns the kinds of which something waits. If no kind is named, the
// metadata of the objects tells that. What the user may not read is left out.
func (o *getOptions) kindsWaiting(ctx context.Context, h *hub.Hub, namespace string, waits func(id string, claim propagation.Claim) bool, without *unlisted) ([]schema.GroupVersionKind, error) {
	if o.kind != nil {
		return []schema.GroupVersionKind{o.kind.GroupVersionKind}, nil
	}
	if o.watch { // it is not told when they change
		return nil, nil
	}
	policies, err := h.Policies(ctx)
	if err != nil {
		return nil, installed(unlessForbidden(err))
	}
	var kinds []schema.GroupVersionKind
	for _, gvk := range slices.SortedFunc(maps.Keys(concerning(policies...).kinds), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) }) {
		if without.kinds[gvk] {
			continue
		}
		objects, err := o.created(ctx, gvk, namespace, o.selector.String())
		without.add(gvk, unlessForbidden(err))
		for n, m := range objects {
			k := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: n.Namespace, Name: n.Name}
			if waits(k.ID(), propagation.ClaimFrom(m.Labels, m.Annotations)) {
				kinds = append(kinds, gvk)
				break
			}
		}
	}
	return kinds, nil
}

// unbound returns the summaries of templates that were never propagated, with what the
// gate says of those that a policy holds, as far as the user may read what it depends on.
func unbound(ctx context.Context, h *hub.Hub, all []explaining.Subject) ([]summary, error) {
	var lines []summary
	held := false
	for _, s := range all {
		lines = append(lines, summaryOfTemplate(s.Template))
		held = held || s.Template.Claim.Held()
	}
	if !held {
		return lines, nil
	}
	w, err := world(ctx, h)
	if err != nil {
		return lines, unlessForbidden(err)
	}
	for i, s := range all {
		if s.Template.Claim.Held() {
			lines[i].Pending, lines[i].Message = w.GateSays(s)
		}
	}
	return lines, nil
}

func unlessForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// unlessHidden is nil where the user may not see something, or the hub does not serve it:
// then what would be said of it is left out.
func unlessHidden(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return unlessForbidden(err)
}
