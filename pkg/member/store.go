// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/interned"
	"sluice.dev/pkg/source/watch"
)

// Change says that somebody else changed an object that is marked as Sluice's.
type Change struct {
	Ref Ref
	// Work is the mark of the object's Work.
	Work    string
	Version string
	// Deleted: the object is gone, or no longer marked as Sluice's.
	Deleted bool
	// Touched: somebody changed what Sluice applied, or took it away. Otherwise the object
	// is new here, or something else of it changed, such as its status.
	Touched bool
}

// store keeps Sluice's objects of one kind as a watch sees them, and announces changes
// that others made.
//
// An event can arrive before the answer to the write that caused it. While an object is
// being written, its last event waits for the answer.
//
// A member may be restored from a backup: its versions continue from a lower one, and
// later writes are lost. That shows in a list that is older than what the watch sent,
// or that has an object in an older version than is known.
type store struct {
	gvk      schema.GroupVersionKind
	announce func(Change)

	mu      sync.Mutex
	objects map[string]*Observed
	writing map[string]*write
	// ended are the last states of objects that finished and are gone, by key; order
	// has their keys, the oldest first.
	ended map[string]*Observed
	order []string
	// left are the uids of objects that this process deleted, by key, until the watch
	// tells of that: it is no news.
	left map[string]types.UID
	// told is the newest version that the watch has sent.
	told uint64
}

// mostEnded is how many objects of a kind that finished and are gone are kept in their
// last state, until their Works record it.
const mostEnded = 500

// forgotten is a version that is older than any version of an event.
const forgotten = "1"

// write is an object being written, by one or more callers at the same time.
type write struct {
	callers int
	last    *event
}

type event struct {
	key     string
	object  *Observed
	deleted bool
	// touched is Change.Touched, when the event is recorded.
	touched bool
}

func newStore(gvk schema.GroupVersionKind, announce func(Change)) *store {
	return &store{gvk: gvk, announce: announce, objects: map[string]*Observed{}, writing: map[string]*write{}, ended: map[string]*Observed{}, left: map[string]types.UID{}}
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func (s *store) get(key string) *Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

// over returns the last state of an object that finished and is gone; nil: not known.
func (s *store) over(key string) *Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[key]
}

// remember keeps the last state of an object that finished. The lock is held.
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

// begin is called before a write, and end after it with the answer; nil if the write
// failed.
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
		told = w.last != nil && s.record(w.last)
	}
	s.mu.Unlock()
	if told {
		s.tell(*w.last)
	}
}

// leave takes the answer to a deletion by this process that the object of that uid is gone.
func (s *store) leave(key string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.objects[key]; have != nil && have.UID == uid {
		delete(s.objects, key)
		s.left[key] = uid
	}
}

// see handles an event of the watch.
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
	told := s.record(&e)
	s.mu.Unlock()
	if told {
		s.tell(e)
	}
}

// record stores the event's object, and reports whether it is news: neither caused by a
// write of Sluice's own, nor older than what is known. The lock is held.
func (s *store) record(e *event) bool {
	switch left := s.left[e.key]; {
	case left == "":
	case left != e.object.UID: // another object has the name by now
		delete(s.left, e.key)
	case e.deleted:
		delete(s.left, e.key)
		return false
	default:
		return false
	}
	have := s.objects[e.key]
	if have != nil && !watch.Newer(e.object.Version, have.Version) || have == nil && e.deleted {
		return false
	}
	if have != nil && have.UID == e.object.UID {
		e.object.For = have.For
	}
	e.touched = have != nil && (e.deleted || touched(have, e.object))
	if s.objects[e.key] = e.object; e.deleted {
		delete(s.objects, e.key)
		if applying.Over(e.object.Object) {
			s.remember(e.key, e.object)
		}
	}
	return true
}

// touched reports whether what was applied differs.
func touched(was, is *Observed) bool {
	return was.UID != is.UID || was.FieldsHash != is.FieldsHash || was.Manifest != is.Manifest || was.Work != is.Work || was.Hub != is.Hub
}

func (s *store) tell(e event) {
	u := unstructured.Unstructured{Object: e.object.Object}
	version, kind := s.gvk.ToAPIVersionAndKind()
	s.announce(Change{
		Ref:  Ref{APIVersion: version, Kind: kind, Namespace: u.GetNamespace(), Name: u.GetName()},
		Work: e.object.Work, Version: e.object.Version, Deleted: e.deleted, Touched: e.touched,
	})
}

// older reports whether a certainly has an earlier version than b.
func older(a, b *Observed) bool {
	va, vb := propagation.Version(a.Version), propagation.Version(b.Version)
	return va != 0 && va < vb
}

// decode decodes an object.
func (s *store) decode(raw []byte) (event, error) {
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		return event{}, fmt.Errorf("decode: %w", err)
	}
	if obj == nil {
		return event{}, errors.New("decode: it is no object")
	}
	obj["kind"] = s.gvk.Kind // the items of a list have no kind
	o := observe(s.gvk.GroupVersion().String(), obj, false)
	interned.Tree(obj)
	u := unstructured.Unstructured{Object: obj}
	return event{key: keyOf(u.GetNamespace(), u.GetName()), object: o}, nil
}

// replace handles a list of all objects at that version. Known objects that are missing
// in it are gone, unless they were written later.
func (s *store) replace(all []event, version string) {
	for _, e := range s.listed(all, version) {
		s.see(e)
	}
}

// listed returns the events that follow from a list: one for each object in it, and a
// deletion for each known object that is missing. If the list shows that the member
// lost versions, the known versions do not count any more.
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
	clear(s.left) // what is in the list is there, or the watch tells of its deletion
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
			all = append(all, event{key: key, object: &last, deleted: true})
		}
	}
	return all
}

// forget marks the versions of objects as forgotten, so that every later event about
// them is news. The lock is held.
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
