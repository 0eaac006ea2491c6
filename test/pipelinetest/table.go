// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// row is one version of one object.
type row[T any] struct {
	key     propagation.TemplateKey
	uid     types.UID
	version uint64
	// owner, whose end is this object's; empty: none.
	owner types.UID
	gone  bool
	value T
}

// table is the objects of a kind, or of the kinds of both scopes: as they are,
// and as stages see them.
type table[T any] struct {
	hub        *Hub
	live, seen map[string]*row[T]
	// own are the versions of each object, where they are the object's own:
	// stages write several of the kind at once, and the order must not show.
	own map[string]uint64
}

func newTable[T any](h *Hub) *table[T] {
	return &table[T]{hub: h, live: map[string]*row[T]{}, seen: map[string]*row[T]{}}
}

// next is a new version of an object.
func (t *table[T]) next(id string) uint64 {
	if t.own == nil {
		return t.hub.next()
	}
	t.own[id]++
	return t.own[id]
}

// get is the object as stages see it.
func (t *table[T]) get(id, about string) (value T, err error) {
	r := t.seen[id]
	if r == nil || r.gone {
		return value, fmt.Errorf("get %s: %w", about, outcome.ErrGone)
	}
	return r.value, nil
}

// list is all objects as stages see them, sorted.
func (t *table[T]) list() []T {
	var all []T
	for _, id := range slices.Sorted(maps.Keys(t.seen)) {
		if r := t.seen[id]; !r.gone {
			all = append(all, r.value)
		}
	}
	return all
}

// rows are all objects as they are, sorted.
func (t *table[T]) rows() []T {
	var all []T
	for _, id := range slices.Sorted(maps.Keys(t.live)) {
		all = append(all, t.live[id].value)
	}
	return all
}

// current refuses a write unless the object is still that one, in that version.
// After that it is seen as it is.
func (t *table[T]) current(id string, uid types.UID, version string) (*row[T], error) {
	r := t.live[id]
	if r != nil && r.uid == uid && strconv.FormatUint(r.version, 10) == version {
		return r, nil
	}
	t.look(id)
	if r == nil {
		return nil, fmt.Errorf("write %s: %w", id, outcome.ErrGone)
	}
	return nil, outcome.Conflict(fmt.Errorf("write %s: it is another now", id))
}

// look makes the object seen as it is.
func (t *table[T]) look(id string) {
	if r := t.live[id]; r != nil {
		t.seen[id] = r
	} else {
		delete(t.seen, id)
	}
}

// store makes r the object, by a stage's hand or another's.
func (t *table[T]) store(id string, r *row[T], own bool) {
	what := hub.Updated
	if t.live[id] == nil {
		what = hub.Added
	}
	t.live[id] = r
	t.told(id, r, what, own)
}

// remove ends the object.
func (t *table[T]) remove(id string, own bool) {
	last := t.live[id]
	delete(t.live, id)
	t.told(id, &row[T]{key: last.key, uid: last.uid, version: t.next(id), gone: true}, hub.Deleted, own)
}

func (t *table[T]) told(id string, r *row[T], what hub.ChangeType, own bool) {
	see := func() {
		if s := t.seen[id]; s == nil || s.version < r.version {
			t.seen[id] = r
		}
	}
	if own || !t.hub.options.Lag {
		see()
	}
	change := hub.Change{Type: what, Key: r.key, Version: strconv.FormatUint(r.version, 10)}
	t.hub.news = append(t.hub.news, &news{News{change, own}, see, t.hub.reads})
}

// relist makes everything seen as it is, as after a start.
func (t *table[T]) relist() {
	t.seen = maps.Clone(t.live)
}

// changes are the objects as if each had just been made.
func (t *table[T]) changes() []hub.Change {
	var all []hub.Change
	for _, id := range slices.Sorted(maps.Keys(t.live)) {
		r := t.live[id]
		all = append(all, hub.Change{Type: hub.Added, Key: r.key, Version: strconv.FormatUint(r.version, 10)})
	}
	return all
}
