// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/watch"
)

// Change says that somebody else changed an object of ours.
type Change struct {
	Ref Ref
	// Work that the object comes from.
	Work    string
	Version string
	// Deleted: the object is gone, or no more marked as ours.
	Deleted bool
}

// store keeps the objects of ours of one kind as a watch sees them, and tells of changes
// that others made.
//
// An event can come before the answer to the write that caused it. While an
// object is being written, its last event waits for the answer.
//
// A member may be restored from a backup: its versions begin anew at a lower one,
// and what was written since is gone. A list says so that is older than what the
// watch told, or in which an object is older than it is known to have been.
type store struct {
	gvk      schema.GroupVersionKind
	announce func(Change)

	mu      sync.Mutex
	objects map[string]*Observed
	writing map[string]*write
	// ended are the last objects that had come to their end and are gone, by key, and
	// order is theirs, the oldest first.
	ended map[string]*Observed
	order []string
	// told is the newest version that the watch has told of.
	told uint64
}

// mostEnded is of how many objects of a kind that came to their end the last state is
// kept: their Works are about to say it.
const mostEnded = 500

// forgotten is a version that is older than all that anything is told of.
const forgotten = "1"

// write is one object being written, by one or more callers at once.
type write struct {
	callers int
	last    *event
}

type event struct {
	key     string
	object  *Observed
	deleted bool
}

func newStore(gvk schema.GroupVersionKind, announce func(Change)) *store {
	return &store{gvk: gvk, announce: announce, objects: map[string]*Observed{}, writing: map[string]*write{}, ended: map[string]*Observed{}}
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func (s *store) get(key string) *Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

// over is an object as it was last that had come to its end and is gone; nil: that is
// not known.
func (s *store) over(key string) *Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[key]
}

// remember keeps the last state of an object that came to its end. The lock is held.
func (s *store) remember(key string, o *Observed) {
	if s.ended[key] == nil {
		s.order = append(s.order, key)
	}
	s.ended[key] = o
	if len(s.order) > mostEnded {
		delete(s.ended, s.order[0])
		s.order = s.order[1:]
	}
}

// begin is called in front of a write, end behind it with the answer: nil where
// it failed.
func (s *store) begin(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing[key] == nil {
		s.writing[key] = &write{}
	}
	s.writing[key].callers++
}

func (s *store) end(key string, answer *Observed) {
	s.mu.Lock()
	if have := s.objects[key]; answer != nil && (have == nil || watch.Newer(answer.Version, have.Version)) {
		s.objects[key] = answer
	}
	w, told := s.writing[key], false
	if w.callers--; w.callers == 0 {
		delete(s.writing, key)
		told = w.last != nil && s.record(*w.last)
	}
	s.mu.Unlock()
	if told {
		s.tell(*w.last)
	}
}

// see takes in an event of the watch.
func (s *store) see(e event) {
	s.mu.Lock()
	s.told = max(s.told, propagation.Version(e.object.Version))
	if w := s.writing[e.key]; w != nil {
		if w.last == nil || watch.Newer(e.object.Version, w.last.object.Version) {
			w.last = &e
		}
		s.mu.Unlock()
		return
	}
	told := s.record(e)
	s.mu.Unlock()
	if told {
		s.tell(e)
	}
}

// record tells whether the event is news: neither about a write of ours, nor about an
// earlier state. The lock is held.
func (s *store) record(e event) bool {
	have := s.objects[e.key]
	if have != nil && !watch.Newer(e.object.Version, have.Version) || have == nil && e.deleted {
		return false
	}
	if have != nil && have.UID == e.object.UID {
		e.object.For = have.For
	}
	if s.objects[e.key] = e.object; e.deleted {
		delete(s.objects, e.key)
		if applying.Over(e.object.Object) {
			s.remember(e.key, e.object)
		}
	}
	return true
}

func (s *store) tell(e event) {
	u := unstructured.Unstructured{Object: e.object.Object}
	version, kind := s.gvk.ToAPIVersionAndKind()
	s.announce(Change{
		Ref:  Ref{APIVersion: version, Kind: kind, Namespace: u.GetNamespace(), Name: u.GetName()},
		Work: e.object.Work, Version: e.object.Version, Deleted: e.deleted,
	})
}

// older tells whether a is certainly of an earlier version than b.
func older(a, b *Observed) bool {
	va, vb := propagation.Version(a.Version), propagation.Version(b.Version)
	return va != 0 && va < vb
}

// decode is what JSON says of an object.
func (s *store) decode(raw []byte) (event, error) {
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		return event{}, fmt.Errorf("decode: %w", err)
	}
	if obj == nil {
		return event{}, errors.New("decode: it is no object")
	}
	obj["kind"] = s.gvk.Kind // which the items of a list lack
	o := observe(s.gvk.GroupVersion().String(), obj, false)
	u := unstructured.Unstructured{Object: obj}
	return event{key: keyOf(u.GetNamespace(), u.GetName()), object: o}, nil
}

// replace takes all that there is at that version. What is missing is gone, unless it was
// written later.
func (s *store) replace(all []event, version string) {
	for _, e := range s.listed(all, version) {
		s.see(e)
	}
}

// listed is what a list tells: each object that is in it, and the end of each that
// is not. Of what the member forgot nothing is believed any more.
func (s *store) listed(all []event, version string) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := propagation.Version(version)
	if at < s.told {
		s.forget(func(*Observed) bool { return true })
		for _, w := range s.writing {
			w.last = nil
		}
	}
	s.told = at
	in := map[string]bool{}
	for _, e := range all {
		in[e.key] = true
		if have := s.objects[e.key]; have != nil && older(e.object, have) && propagation.Version(have.Version) <= at {
			s.forget(func(o *Observed) bool { return o == have })
		}
	}
	for key, o := range s.objects {
		if !in[key] && !watch.Newer(o.Version, version) {
			last := *o
			last.Version = version
			all = append(all, event{key, &last, true})
		}
	}
	return all
}

// forget forgets the versions of objects, so that whatever is told next is news. The
// lock is held.
func (s *store) forget(which func(*Observed) bool) {
	for key, o := range s.objects {
		if !which(o) {
			continue
		}
		unknown := *o
		unknown.Version = forgotten
		s.objects[key] = &unknown
	}
}
