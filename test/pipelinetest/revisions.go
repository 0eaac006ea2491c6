// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"encoding/json"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// namespaceOf is where the frozen contents of a binding's template are kept.
func namespaceOf(b *propagation.Binding) string {
	return cmp.Or(b.Key.Namespace, propagation.SystemNamespace)
}

func revisionID(b *propagation.Binding, name string) string { return namespaceOf(b) + "/" + name }

// Revision is frozen content of the binding's template.
func (h *Hub) Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error) {
	if err := h.ask(ctx, "get", "revision "+name); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.revisions.get(revisionID(b, name), "revision "+name)
	if err == nil && r.Binding != b.Key {
		return nil, fmt.Errorf("get revision %s: it is not one of %s: %w", name, b.Key, outcome.ErrGone)
	}
	if err != nil {
		return nil, err
	}
	if err := b.Genuine(r); err != nil {
		return nil, fmt.Errorf("get revision %s of %s: %w: %w", name, b.Key, err, outcome.ErrGone)
	}
	owned := *r
	owned.Owner = h.revisions.seen[revisionID(b, name)].owner
	return &owned, nil
}

// Revisions are all frozen contents of the binding's template.
func (h *Hub) Revisions(ctx context.Context, b *propagation.Binding) ([]*propagation.Revision, error) {
	if err := h.ask(ctx, "list", "revisions of "+b.Key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(h.revisions.list(), func(r *propagation.Revision) bool { return r.Binding != b.Key }), nil
}

// CreateRevision freezes content, which the binding then owns.
func (h *Hub) CreateRevision(ctx context.Context, b *propagation.Binding, r *propagation.Revision) error {
	id, verb := revisionID(b, r.Name), "create"
	if known := h.revisions.seen[id]; known != nil && !known.gone {
		switch {
		case !says(b, known.value, r):
			return h.replaceRevision(ctx, b, r.Name)
		case known.owner == b.UID:
			return nil
		}
		verb = "patch"
	}
	if err := h.ask(ctx, verb, "revision "+r.Name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.revisions.live[id]
	switch {
	case known == nil && verb == "patch":
		h.revisions.look(id)
		return outcome.Conflict(fmt.Errorf("adopt revision %s: it is gone", r.Name))
	case known == nil:
		next := *r
		next.Namespace = namespaceOf(b)
		next.Content = unshared(r.Content)
		h.storeRevision(b, &next)
		return h.wrote(ctx, "create", "revision "+r.Name, nil, &next)
	case !says(b, known.value, r):
		h.revisions.look(id)
		return outcome.Conflict(fmt.Errorf("create revision %s: another is in its place", r.Name))
	case known.owner != b.UID:
		next := *known.value
		h.storeRevision(b, &next)
		return h.wrote(ctx, "patch", "revision "+r.Name, known.value, &next)
	}
	return nil
}

// says tells whether what is kept is what shall be.
func says(b *propagation.Binding, known, r *propagation.Revision) bool {
	return known.Binding == b.Key && propagation.HashContent(known.Content) == r.Hash && b.Template().Identifies(known.Content) == nil
}

// replaceRevision makes room for a revision whose name something else has.
func (h *Hub) replaceRevision(ctx context.Context, b *propagation.Binding, name string) error {
	if err := h.DeleteRevision(ctx, b, name); err != nil {
		return err
	}
	return outcome.Conflict(fmt.Errorf("create revision %s: another was in its place", name))
}

// ForgeRevision has an editor of the namespace make kept content anew, with the
// content that forge makes of it. For tests.
func (h *Hub) ForgeRevision(b *propagation.Binding, name string, forge func(content map[string]any) map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.revisions.live[revisionID(b, name)]
	if known == nil {
		return
	}
	next := *known.value
	next.Content = forge(unshared(next.Content))
	h.revisions.store(revisionID(b, name), &row[*propagation.Revision]{
		key: known.key, uid: h.newUID(), version: h.next(), owner: known.owner, value: &next,
	}, false)
}

// LoseRevision has an editor of the namespace delete kept content. For tests.
func (h *Hub) LoseRevision(b *propagation.Binding, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.revisions.live[revisionID(b, name)] != nil {
		h.revisions.remove(revisionID(b, name), false)
	}
}

// unshared is a copy of an object, with the numbers of the API machinery.
func unshared(obj map[string]any) map[string]any {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(fmt.Sprintf("encode: %v", err))
	}
	var out map[string]any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		panic(fmt.Sprintf("decode: %v", err))
	}
	return out
}

func (h *Hub) storeRevision(b *propagation.Binding, r *propagation.Revision) {
	id, uid := revisionID(b, r.Name), h.newUID()
	if known := h.revisions.live[id]; known != nil {
		uid = known.uid
	}
	h.revisions.store(id, &row[*propagation.Revision]{
		key: revisionKey(r.Namespace, r.Name), uid: uid, version: h.next(), owner: b.UID, value: r,
	}, true)
}

// DeleteRevision forgets frozen content.
func (h *Hub) DeleteRevision(ctx context.Context, b *propagation.Binding, name string) error {
	id := revisionID(b, name)
	if r := h.revisions.seen[id]; r == nil || r.gone {
		return nil
	}
	if err := h.ask(ctx, "delete", "revision "+name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.revisions.live[id]
	if r == nil {
		h.revisions.look(id)
		return nil
	}
	h.revisions.remove(id, true)
	return h.wrote(ctx, "delete", "revision "+name, r.value, nil)
}

// LiveRevisions are all frozen contents as they are, sorted. For tests.
func (h *Hub) LiveRevisions() []*propagation.Revision {
	var all []*propagation.Revision
	for _, id := range slices.Sorted(maps.Keys(h.revisions.live)) {
		all = append(all, h.revisions.live[id].value)
	}
	return all
}

// Garbage is what lost its owner, and waits for its end.
func (h *Hub) Garbage() []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(h.bindings.live)) {
		if r := h.bindings.live[id]; r.owner != "" && !alive(h.templates, r) {
			all = append(all, "binding "+id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.revisions.live)) {
		if !alive(h.bindings, h.revisions.live[id]) {
			all = append(all, "revision "+id)
		}
	}
	return all
}

// alive tells whether the owner of r is among owners.
func alive[O, T any](owners *table[O], r *row[T]) bool {
	for _, o := range owners.live {
		if o.uid == r.owner {
			return true
		}
	}
	return false
}

// Collect ends one piece of garbage.
func (h *Hub) Collect(garbage string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id, ok := cutPrefix(garbage, "binding "); ok {
		h.bindings.remove(id, false)
	} else if id, ok := cutPrefix(garbage, "revision "); ok {
		h.revisions.remove(id, false)
	}
}
