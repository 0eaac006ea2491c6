// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// filter chooses templates.
type filter struct {
	// kinds to list, and those of the bindings for which also returns true.
	kinds map[schema.GroupVersionKind]bool
	also  func(*propagation.Binding) bool
	// namespace of the templates; empty: any, and cluster-scoped ones.
	namespace string
	// policy that holds them; zero: any
	policy propagation.PolicyKey
	labels labels.Selector
	// selected: templates that no policy holds count as well.
	selected bool
}

// concerning selects the templates that the policies may hold or select.
func concerning(policies ...*propagation.Policy) filter {
	f := filter{kinds: map[schema.GroupVersionKind]bool{}, labels: labels.Everything(), selected: true}
	keys := map[propagation.PolicyKey]bool{}
	for _, p := range policies {
		keys[p.Key] = true
		for _, sel := range p.Spec.ResourceSelectors {
			f.kinds[schema.FromAPIVersionAndKind(sel.APIVersion, sel.Kind)] = true
		}
		if p.Key.Scope == propagation.Namespaced {
			f.namespace = p.Key.Namespace
		}
	}
	f.also = func(b *propagation.Binding) bool { return keys[b.Claim().Policy] }
	return f
}

func (f filter) matches(t *propagation.Template) bool {
	return (f.namespace == "" || t.Key.Namespace == f.namespace) &&
		(f.selected || t.Claim.Held()) &&
		(f.policy.IsZero() || t.Claim.Policy == f.policy) &&
		f.labels.Matches(labels.Set(t.Labels))
}

// untold says of which kinds nothing is known, because their templates cannot be listed,
// and why.
type untold []string

func (u untold) err() error {
	if len(u) == 0 {
		return nil
	}
	return errors.New(strings.Join(u, "\n"))
}

// subjects returns the templates that the filter selects, with their bindings, sorted.
// It costs one list for each kind and two for the bindings, whatever their number.
func subjects(ctx context.Context, h *hub.Hub, f filter) ([]explaining.Subject, untold, error) {
	all, err := h.Bindings(ctx)
	if err != nil {
		return nil, nil, installed(err)
	}
	bindings := make(map[propagation.BindingKey]*propagation.Binding, len(all))
	kinds := maps.Clone(f.kinds)
	for _, b := range all {
		bindings[b.Key] = b
		if f.also(b) {
			kinds[b.Template().GroupVersionKind()] = true
		}
	}
	var out []explaining.Subject
	read, failed := map[schema.GroupKind]bool{}, map[schema.GroupKind]error{}
	for gvk := range kinds {
		err := servedTemplates(ctx, h, gvk, f.namespace, func(t *propagation.Template) {
			if f.matches(t) {
				b := bindings[propagation.BindingOf(t.Key)]
				out = append(out, explaining.Subject{Template: t.KnownTo(b), Binding: b})
			}
		})
		if ctx.Err() != nil {
			return nil, nil, err
		}
		read[gvk.GroupKind()] = read[gvk.GroupKind()] || err == nil
		if err != nil {
			failed[gvk.GroupKind()] = err
		}
	}
	slices.SortFunc(out, func(a, b explaining.Subject) int {
		return cmp.Or(cmp.Compare(a.Template.Key.Namespace, b.Template.Key.Namespace), cmp.Compare(a.Template.Key.ID(), b.Template.Key.ID()))
	})
	out = slices.CompactFunc(out, func(a, b explaining.Subject) bool { return a.Template.Key.ID() == b.Template.Key.ID() })
	var dark untold
	for kind, err := range failed {
		if !read[kind] { // any version shows all objects
			dark = append(dark, fmt.Sprintf("cannot tell for %s: %v", kind, err))
		}
	}
	slices.Sort(dark)
	return out, dark, nil
}
