// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// changed applies the changes since the latest snapshot to its content. It reads only
// the objects that changed, and everything in a namespace that is selected for the
// first time.
func (r *reading) changed(ctx context.Context, keys []propagation.TemplateKey) (placing.Content, error) {
	content := r.latest
	namespaces, others := split(keys)
	for _, key := range namespaces {
		next, err := r.changedNamespace(ctx, content, key)
		if err != nil {
			return content, err
		}
		content = next
	}
	for _, key := range others {
		if !r.selectors.Concern(key) || key.Namespace != "" && !content.Has(placing.NamespaceKey(key.Namespace)) {
			r.drop(key)
			continue
		}
		if err := r.reread(ctx, key); err != nil {
			return content, err
		}
	}
	gone, err := r.gone(ctx)
	if err != nil {
		return content, err
	}
	return content.Without(r.left).Without(gone).With(r.items), nil
}

// split sorts the keys, without duplicates, into namespaces and objects inside
// namespaces or of other kinds.
func split(keys []propagation.TemplateKey) (namespaces, others []propagation.TemplateKey) {
	seen := map[string]bool{}
	for _, key := range keys {
		switch {
		case seen[key.ID()]:
		case placing.IsNamespace(key):
			namespaces = append(namespaces, key)
		default:
			others = append(others, key)
		}
		seen[key.ID()] = true
	}
	return namespaces, others
}

// changedNamespace returns the content after a namespace changed: everything in it is
// added if it was not selected before, and removed if it is not selected any more.
func (r *reading) changedNamespace(ctx context.Context, content placing.Content, key propagation.TemplateKey) (placing.Content, error) {
	was := content.Has(key)
	t, err := r.one(ctx, key)
	if err != nil {
		return content, r.tolerate(key.GroupVersionKind().GroupKind(), propagation.Right{Verb: "get"}, err)
	}
	selected := false
	if t != nil {
		if selected, err = r.selected(t); err != nil {
			return content, err
		}
	}
	switch {
	case !selected && was:
		return content.Keep(func(i placing.Item) bool {
			return i.Key.Namespace != key.Name && i.Key.ID() != key.ID()
		}), nil
	case !selected:
		return content, nil
	}
	if err := r.take(t); err != nil {
		return content, err
	}
	if !was {
		if err := r.namespace(ctx, key.Name); err != nil {
			return content, err
		}
	}
	return content.Without(r.left).With(r.items), nil
}

// reread reads an object as it is now. If it is not to be propagated, it leaves.
func (r *reading) reread(ctx context.Context, key propagation.TemplateKey) error {
	t, err := r.one(ctx, key)
	if err != nil {
		return r.tolerate(key.GroupVersionKind().GroupKind(), propagation.Right{Verb: "get", Namespace: key.Namespace}, err)
	}
	switch {
	case t == nil:
		r.lose(key)
		return nil
	case key.Namespace != "":
		return r.inNamespace(ctx, t)
	}
	selected, err := r.selected(t)
	if err != nil {
		return err
	}
	if !selected {
		r.pass(t)
		return nil
	}
	return r.take(t)
}

// one reads an object; nil: it does not exist.
func (r *reading) one(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	gvk, ok := r.version(key)
	if !ok {
		return nil, fmt.Errorf("get %s: %w", key, outcome.ErrNotServed)
	}
	key.APIVersion = gvk.GroupVersion().String()
	t, err := r.objects.Template(ctx, key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return t, nil
}
