// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest/fixture"
)

// Binding is the binding of that key.
func (h *Hub) Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	if err := h.ask(ctx, "get", key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bindings.get(key.ID(), key.String())
}

// Bindings are all bindings of both scopes.
func (h *Hub) Bindings(ctx context.Context) ([]*propagation.Binding, error) {
	if err := h.ask(ctx, "list", "bindings"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bindings.list(), nil
}

// ListBindings are at most limit bindings of a namespace, or of all and of both
// scopes for the empty one, those after cont, and where to go on.
func (h *Hub) ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	about := "bindings"
	if namespace != "" {
		about += " of " + namespace
	}
	if err := h.ask(ctx, "list", about); err != nil {
		return nil, "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	in := slices.DeleteFunc(h.bindings.list(), func(b *propagation.Binding) bool {
		return namespace != "" && b.Key.Namespace != namespace
	})
	page, next := fixture.Page(in, limit, cont)
	return page, next, nil
}

// LinkedBindings are those of a namespace that are labelled as linked.
func (h *Hub) LinkedBindings(ctx context.Context, namespace string) ([]*propagation.Binding, error) {
	if err := h.ask(ctx, "list", "linked bindings of "+namespace); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(h.bindings.list(), func(b *propagation.Binding) bool {
		return b.Key.Namespace != namespace || b.Labels[propagation.LabelLinked] == ""
	}), nil
}

// BindingsReferringTo are those whose templates refer to this one.
func (h *Hub) BindingsReferringTo(ctx context.Context, key propagation.TemplateKey) ([]*propagation.Binding, error) {
	linked, err := h.LinkedBindings(ctx, key.Namespace)
	return slices.DeleteFunc(linked, func(b *propagation.Binding) bool { return !dependencies.Refers(b, key) }), err
}

// BindingsRequiredBy are those that say that this one requires them.
func (h *Hub) BindingsRequiredBy(ctx context.Context, parent propagation.BindingKey) ([]*propagation.Binding, error) {
	linked, err := h.LinkedBindings(ctx, parent.Namespace)
	return slices.DeleteFunc(linked, func(b *propagation.Binding) bool { return !dependencies.Requires(b, parent) }), err
}

// RemovingBindings are those that are labelled as holding a removal.
func (h *Hub) RemovingBindings(ctx context.Context) ([]*propagation.Binding, error) {
	if err := h.ask(ctx, "list", "removing bindings"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(h.bindings.list(), func(b *propagation.Binding) bool {
		return b.Labels[propagation.LabelRemoving] == ""
	}), nil
}

// CommitBinding writes labels, annotations and spec of a binding.
func (h *Hub) CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error) {
	id, verb := next.Key.ID(), "patch"
	if old == nil {
		verb = "create"
	} else if maps.Equal(old.Labels, next.Labels) && maps.Equal(old.Annotations, next.Annotations) && same(old.Spec, next.Spec) && old.Owner == next.Owner {
		return old, nil
	}
	if err := h.ask(ctx, verb, next.Key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := copyOf(next)
	if old == nil {
		if h.bindings.live[id] != nil {
			h.bindings.look(id)
			return nil, errTaken
		}
		b.UID, b.Generation, b.Created, b.Deleting, b.Status = h.newUID(), 1, time.Time{}, false, workv1alpha2.ResourceBindingStatus{}
		if h.options.Now != nil {
			b.Created = h.second()
		}
	} else {
		r, err := h.currentBinding(id, old)
		if err != nil {
			return nil, err
		}
		b.UID, b.Generation, b.Created, b.Deleting, b.Status = r.value.UID, r.value.Generation, r.value.Created, r.value.Deleting, r.value.Status
		b.Labels, b.Annotations = patched(r.value.Labels, old.Labels, next.Labels), patched(r.value.Annotations, old.Annotations, next.Annotations)
		if !same(r.value.Spec, b.Spec) {
			b.Generation++
		}
	}
	if old == nil || old.Owner != next.Owner || old.Spec.Resource.UID != next.Spec.Resource.UID {
		b.Owner = ownerOf(b)
	}
	h.storeBinding(b, true)
	if old == nil {
		return b, h.wrote(ctx, verb, next.Key.String(), nil, b)
	}
	return b, h.wrote(ctx, verb, next.Key.String(), old, b)
}

// currentBinding refuses a write unless the binding still is as it was read.
func (h *Hub) currentBinding(id string, b *propagation.Binding) (*row[*propagation.Binding], error) {
	r, err := h.bindings.current(id, b.UID, b.ResourceVersion)
	if errors.Is(err, outcome.ErrGone) {
		return nil, outcome.Conflict(fmt.Errorf("write %s: it is gone", id))
	}
	return r, err
}

// ownerOf is the template as its binding's owner, as the hub writes it; none where it does
// not exist.
func ownerOf(b *propagation.Binding) (owner workv1alpha2.ObjectReference) {
	if owner = b.Spec.Resource; owner.UID == "" {
		return workv1alpha2.ObjectReference{}
	}
	owner.ResourceVersion = ""
	return owner
}

// patched is live with what makes next of old, as a merge patch does: what neither
// of the two says stays.
func patched(live, old, next map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, live)
	for k := range old {
		if _, stays := next[k]; !stays {
			delete(out, k)
		}
	}
	maps.Copy(out, next)
	return out
}

func (h *Hub) storeBinding(b *propagation.Binding, own bool) {
	version := h.next()
	b.ResourceVersion = strconv.FormatUint(version, 10)
	about := hub.AboutBinding(b)
	key := propagation.TemplateKey{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: b.Key.Namespace, Name: b.Key.Name}
	h.bindings.store(b.Key.ID(), &row[*propagation.Binding]{key: key, uid: b.UID, version: version, owner: b.TemplateUID(), value: b}, own)
}

// CommitBindingStatus writes the status of a binding.
func (h *Hub) CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error) {
	if same(b.Status, status) {
		return b, nil
	}
	about := "status of " + b.Key.String()
	if err := h.ask(ctx, "update", about); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.currentBinding(b.Key.ID(), b)
	if err != nil {
		return nil, err
	}
	next := *r.value
	next.Status = copyOf(status)
	h.storeBinding(&next, true)
	return &next, h.wrote(ctx, "update", about, r.value, &next)
}

// DeleteBinding deletes that very binding, if it still is as it was read.
func (h *Hub) DeleteBinding(ctx context.Context, b *propagation.Binding) error {
	if err := h.ask(ctx, "delete", b.Key.String()); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.bindings.live[b.Key.ID()]
	if r == nil || r.uid != b.UID {
		h.bindings.look(b.Key.ID())
		return nil
	}
	if _, err := h.currentBinding(b.Key.ID(), b); err != nil {
		return err
	}
	h.bindings.remove(b.Key.ID(), true)
	return h.wrote(ctx, "delete", b.Key.String(), r.value, nil)
}

// LiveBinding is the binding as it is; nil: there is none. For tests.
func (h *Hub) LiveBinding(key propagation.BindingKey) *propagation.Binding {
	if r := h.bindings.live[key.ID()]; r != nil {
		return r.value
	}
	return nil
}

// LiveBindings are all bindings as they are, sorted. For tests.
func (h *Hub) LiveBindings() []*propagation.Binding {
	var all []*propagation.Binding
	for _, id := range slices.Sorted(maps.Keys(h.bindings.live)) {
		all = append(all, h.bindings.live[id].value)
	}
	return all
}
