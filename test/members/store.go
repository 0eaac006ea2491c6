// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// remembered is how many changes a watch can begin behind; who is further behind
// has to list.
const remembered = 4096

// item is an object as it is stored. It is never changed.
type item struct {
	version         uint64
	namespace, name string
	labels          labels.Set
	raw             []byte // JSON
}

func (i *item) key() string { return i.namespace + "/" + i.name }

// object is the item as something that may be changed.
func (i *item) object() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON(i.raw)
}

// change is one of an object: from nil where it was new. A deleted object is told
// as it was last, in the version of its deletion.
type change struct {
	version uint64
	kind    *kind
	was, is *item
	deleted bool
}

// store has a member's objects. Versions count the changes of all, as etcd's do.
type store struct {
	mu      sync.Mutex
	version uint64
	items   map[*kind]map[string]*item
	// log are the last changes, the oldest first; forgotten is the version of the
	// last one that is not among them.
	log       []change
	forgotten uint64
	wake      chan struct{} // closed at the next change
}

func newStore() *store {
	s := &store{version: 1, forgotten: 1, items: map[*kind]map[string]*item{}, wake: make(chan struct{})}
	for _, k := range kinds {
		s.items[k] = map[string]*item{}
	}
	return s
}

// put stores the object in a new version, which it sets. The lock is held.
func (s *store) put(k *kind, u *unstructured.Unstructured) (*item, error) {
	next, err := itemOf(u, s.version+1)
	if err != nil {
		return nil, err
	}
	s.version++
	was := s.items[k][next.key()]
	s.items[k][next.key()] = next
	s.note(change{s.version, k, was, next, false})
	return next, nil
}

// remove forgets the object, whose last state it returns. The lock is held.
func (s *store) remove(k *kind, u *unstructured.Unstructured) (*item, error) {
	last, err := itemOf(u, s.version+1)
	if err != nil {
		return nil, err
	}
	s.version++
	was := s.items[k][last.key()]
	delete(s.items[k], last.key())
	s.note(change{s.version, k, was, last, true})
	return last, nil
}

func itemOf(u *unstructured.Unstructured, version uint64) (*item, error) {
	u.SetResourceVersion(strconv.FormatUint(version, 10))
	raw, err := json.Marshal(u.Object)
	return &item{version, u.GetNamespace(), u.GetName(), u.GetLabels(), raw}, err
}

func (s *store) note(c change) {
	if s.log = append(s.log, c); len(s.log) >= 2*remembered {
		s.forgotten = s.log[len(s.log)-remembered-1].version
		s.log = slices.Clone(s.log[len(s.log)-remembered:])
	}
	close(s.wake)
	s.wake = make(chan struct{})
}

// since are the changes behind a version, the version that they lead to, and what
// is closed when there are more; false: it is too old.
func (s *store) since(version uint64) (_ []change, now uint64, more <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.forgotten {
		return nil, 0, nil, false
	}
	from, _ := slices.BinarySearchFunc(s.log, version+1, func(c change, v uint64) int { return int(int64(c.version) - int64(v)) })
	return s.log[from:len(s.log):len(s.log)], s.version, s.wake, true
}

// list are the objects of a kind that are chosen, in the order of their keys, and
// the version that they are of.
func (s *store) list(k *kind, chosen func(*item) bool) ([]*item, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*item
	for _, i := range s.items[k] {
		if chosen(i) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, byKey)
	return all, s.version
}

func byKey(a, b *item) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}
