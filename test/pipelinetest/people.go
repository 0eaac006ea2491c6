// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// This file is what people do by hand to what is Sluice's.

// Kind is a kind of Sluice's, whose definition people may delete.
type Kind string

// The kinds.
const (
	KindBindings Kind = "bindings"
	KindWorks    Kind = "works"
)

// kindOf is the kind that a request is about; empty: another.
func kindOf(about string) Kind {
	for _, prefix := range []string{"status of ", "finalizers of ", "linked "} {
		about = strings.TrimPrefix(about, prefix)
	}
	switch word, _, _ := strings.Cut(about, " "); word {
	case "binding", "bindings":
		return KindBindings
	case "work", "works":
		return KindWorks
	}
	return ""
}

// unserved is the answer to a request about a kind whose definition is gone. As long
// as finalizers keep objects of it, these are served, and nothing new is made.
func (h *Hub) unserved(verb, about string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	kind := kindOf(about)
	if !h.dropped[kind] || kind == KindWorks && len(h.works.live) > 0 && verb != "create" {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, about, outcome.ErrNotServed)
}

// DropKind lets somebody delete the definition of a kind, and all objects with it.
func (h *Hub) DropKind(kind Kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropped[kind] {
		return false
	}
	h.dropped[kind] = true
	switch kind {
	case KindBindings:
		for _, id := range slices.Sorted(maps.Keys(h.bindings.live)) {
			h.bindings.remove(id, false)
		}
	case KindWorks:
		h.deleteWorks(func(*propagation.Work) bool { return true })
	}
	return true
}

// MakeKind lets somebody make the definition of a kind again; false: it is there, or
// on its way out still.
func (h *Hub) MakeKind(kind Kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.dropped[kind] || kind == KindWorks && len(h.works.live) > 0 {
		return false
	}
	delete(h.dropped, kind)
	return true
}

// Dropped tells whether somebody deleted the kind, and nobody made it again. For tests.
func (h *Hub) Dropped(kind Kind) bool { return h.dropped[kind] }

func (h *Hub) deleteWorks(which func(*propagation.Work) bool) {
	for _, id := range slices.Sorted(maps.Keys(h.works.live)) {
		if r := h.works.live[id]; which(r.value) {
			h.deleteWork(r, false)
		}
	}
}

// DropNamespace lets somebody delete the namespace of a member's Works, which goes
// when finalizers let the last of them go.
func (h *Hub) DropNamespace(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.namespaces[name] || h.leaving[name] {
		return false
	}
	h.leaving[name] = true
	h.deleteWorks(func(w *propagation.Work) bool { return w.Key.Namespace() == name })
	maps.DeleteFunc(h.contents, func(k propagation.WorkKey, _ *propagation.KeptContents) bool { return k.Namespace() == name })
	return true
}

// hasNamespace tells whether there is one that takes objects, and whether one is on
// its way out.
func (h *Hub) hasNamespace(name string) (is, leaving bool) {
	if h.leaving[name] && !slices.ContainsFunc(h.works.rows(), func(w *propagation.Work) bool { return w.Key.Namespace() == name }) {
		delete(h.leaving, name)
		delete(h.namespaces, name)
	}
	return h.namespaces[name] && !h.leaving[name], h.leaving[name]
}

// HasNamespace tells whether there is one that takes objects. For tests.
func (h *Hub) HasNamespace(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	is, _ := h.hasNamespace(name)
	return is
}

// errLeaving is what who wants to make a namespace gets while it is on its way out.
func errLeaving(name string) error {
	return outcome.After(time.Second, fmt.Errorf("namespace %s is being deleted", name))
}

// DropBinding lets somebody delete a binding.
func (h *Hub) DropBinding(key propagation.BindingKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bindings.live[key.ID()] == nil {
		return false
	}
	h.bindings.remove(key.ID(), false)
	return true
}

// AnnotateBinding lets somebody set an annotation of a binding.
func (h *Hub) AnnotateBinding(key propagation.BindingKey, name, value string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.bindings.live[key.ID()]
	if r == nil || r.value.Annotations[name] == value {
		return false
	}
	next := *r.value
	next.Annotations = maps.Clone(next.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[name] = value
	h.storeBinding(&next, false)
	return true
}

// Strip lets somebody take the marks of Sluice off an object in a member.
func (m *Member) Strip(ref member.Ref) bool {
	old := m.objects[ref.ID()]
	if old == nil || old.Work == "" {
		return false
	}
	next := *old
	next.Work, next.Hub, next.Manifest = "", "", ""
	m.put(&next, false)
	return true
}
