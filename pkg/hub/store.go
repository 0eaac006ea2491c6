// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// record is one version of one object.
type record[T any] struct {
	name    types.NamespacedName
	uid     types.UID
	version uint64
	// keys are what the store finds objects by, besides their name.
	keys []string
	// final says that this was the object's last version: it waited for its
	// deletion, and for nothing any more.
	final bool
	value T
}

// store is what a process knows of all objects of a kind that it watches: the
// state that the watch has told up to the version seen, and the process's own
// newer writes on top. The newest version wins, whichever way it came.
//
// News is what somebody else wrote. It is queued, once, for whoever watches. A
// version that is not newer than the known one is no news: every write is
// conditional on what was read, and the store takes whatever is read, so that what
// a write follows was known before.
//
// A nil store knows nothing, and learns nothing.
type store[T any] struct {
	mu      sync.RWMutex
	entries map[types.NamespacedName]*entry[T]
	byKey   map[string]map[types.NamespacedName]bool
	// seen is the version up to which the watch has told everything.
	seen uint64
	// written is the newest version that a write of this process made.
	written uint64
	// back says that the hub went back: what is listed next replaces all that is known.
	back bool
	// synced says that the initial list is in, broken that the watch ended, and that no
	// other goes on from there.
	synced, broken bool
	// closed is set while the watch has ended, and what follows is not known yet.
	closed *gap
	news   []news
	// wake holds a token while there is news.
	wake chan struct{}
}

// news is what is to be told of one object.
type news struct {
	what    ChangeType
	name    types.NamespacedName
	uid     types.UID
	version uint64
}

// entry is what is known of one name.
type entry[T any] struct {
	// rec is the newest version; nil: no such object.
	rec *record[T]
	// version is the newest known, of rec or of the object that was deleted.
	version uint64
	// keys under which the name is indexed.
	keys []string
	// tombstone is the uid of the object that this process deleted, until the watch
	// tells of the deletion: until then late events do not bring the object back.
	tombstone types.UID
	// doubtful says that a race was lost: there is a newer version.
	doubtful bool
	// writers counts this process's writes under way. As long as there are any, each version
	// that the watch reports may be of one of these writes, and is held back; the others are
	// somebody else's, also where another of these writes came on top.
	writers int
	held    []news
}

func newStore[T any]() *store[T] {
	return &store[T]{
		entries: map[types.NamespacedName]*entry[T]{},
		byKey:   map[string]map[types.NamespacedName]bool{},
		wake:    make(chan struct{}, 1),
	}
}

// get is the object of that name. Where known is false, only the API server
// can tell.
func (s *store[T]) get(name types.NamespacedName) (value T, found, known bool) {
	if s == nil {
		return value, false, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.entries[name]
	switch {
	case !s.knows() || e != nil && e.doubtful:
		return value, false, false
	case e == nil || e.rec == nil:
		return value, false, true
	}
	return e.rec.value, true, true
}

// ready tells whether the initial list is in, and nothing broke the watch since.
func (s *store[T]) ready() bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.knows()
}

// knows reports whether reads can be answered from the store. After a watch has ended
// they cannot: what it reported may have been undone by restoring the hub from a
// backup.
func (s *store[T]) knows() bool { return s.synced && !s.broken && s.closed == nil }

// setClosed records that the watch ended, or that an attempt to open the next was answered.
func (s *store[T]) setClosed(closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setGap(closed)
}

// setBroken records that the watch ended, or that it was resumed from where it was.
func (s *store[T]) setBroken(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// begun tells whether the initial list was ever in.
func (s *store[T]) begun() bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.synced
}

// list is every object of a namespace, or of all for the empty one, in no
// order, and the doubtful names, which only the API server can tell of.
func (s *store[T]) list(namespace string) (found []*record[T], doubtful []types.NamespacedName, known bool) {
	if s == nil {
		return nil, nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name, e := range s.entries {
		if namespace == "" || namespace == name.Namespace {
			found, doubtful = e.collect(name, found, doubtful)
		}
	}
	return found, doubtful, s.knows()
}

func (e *entry[T]) collect(name types.NamespacedName, found []*record[T], doubtful []types.NamespacedName) ([]*record[T], []types.NamespacedName) {
	switch {
	case e.doubtful:
		doubtful = append(doubtful, name)
	case e.rec != nil:
		found = append(found, e.rec)
	}
	return found, doubtful
}

// replace takes a whole list, as the API server had it at version. All of the first
// list is news; of later lists only what differs from what is known.
func (s *store[T]) replace(recs []*record[T], version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back || version < s.seen || s.outruns(recs, version) {
		s.forgetVersions()
		s.back, s.written = false, 0
	}
	listed := make(map[types.NamespacedName]bool, len(recs))
	for _, r := range recs {
		listed[r.name] = true
		e := s.at(r.name)
		switch {
		case r.uid == e.tombstone: // listed before it was deleted
		case s.synced:
			s.accept(e, r)
		default:
			s.put(e, r)
			s.tell(e, Added, e.rec)
		}
	}
	for name, e := range s.entries {
		if !listed[name] && e.version <= version {
			s.vanish(e, version)
			e.tombstone = ""
			s.tidy(name, e)
		}
	}
	s.seen, s.synced, s.broken = version, true, false
	s.setGap(false)
}

// observe takes what a watch reports of one object.
func (s *store[T]) observe(r *record[T], deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, r.version)
	e := s.at(r.name)
	defer s.tidy(r.name, e)
	if !deleted {
		s.accept(e, r)
		return
	}
	if r.uid == e.tombstone {
		e.tombstone = ""
		return
	}
	if e.rec != nil && (e.rec.uid == r.uid || r.version > e.version) {
		s.vanish(e, r.version)
	}
}

// progress takes a bookmark: the watch has reported everything up to version.
func (s *store[T]) progress(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, version)
}

// read takes the answer to a live read.
func (s *store[T]) read(r *record[T]) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[r.name]; e != nil && r.version >= e.version {
		e.doubtful = false
	}
	s.learn(r)
}

// show takes an object from the answer to a list, which may be of a moment ago. Without it
// nobody would be told of a version that this process learned of from a list alone, while
// no watch is open, and then wrote upon. All that was there at the beginning is told
// anyway, once.
func (s *store[T]) show(r *record[T]) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.synced {
		s.learn(r)
	}
}

// learn takes a version of an object that was read, unless the object is gone by now.
func (s *store[T]) learn(r *record[T]) {
	e := s.at(r.name)
	defer s.tidy(r.name, e)
	if !s.outlived(e, r) {
		s.accept(e, r)
	}
}

// missed takes the answer to a live read that there is no such object. An object that
// the watch has reported stays doubtful until the watch reports its deletion.
func (s *store[T]) missed(name types.NamespacedName) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.at(name)
	if e.rec == nil {
		e.doubtful = false
	}
	s.tidy(name, e)
}

// begin announces a write of this process. Each begin is followed by one end,
// with what came of the write in between.
func (s *store[T]) begin(name types.NamespacedName) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(name).writers++
}

func (s *store[T]) end(name types.NamespacedName) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.at(name)
	e.writers = max(0, e.writers-1)
	if n := len(e.held); e.writers == 0 && n > 0 {
		s.queue(e.held[n-1]) // whoever hears of it reads the object
		e.held = nil
	}
	s.tidy(name, e)
}

// wrote takes the API server's answer to a write of this process.
func (s *store[T]) wrote(r *record[T]) {
	if s == nil {
		return
	}
	if r.final {
		s.deleted(r.name, r.uid)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = max(s.written, r.version)
	e := s.at(r.name)
	s.back = s.back || s.repeats(e, r)
	e.held = slices.DeleteFunc(e.held, func(n news) bool { return n.version == r.version }) // the watch was quicker
	switch {
	case r.version <= e.version || r.uid == e.tombstone:
	case !s.outlived(e, r):
		s.put(e, r)
	case !slices.ContainsFunc(e.held, func(n news) bool { return n.version > r.version }):
		// It came and went between two lists.
		s.tellGone(e, r, s.seen)
	}
}

// deleted takes the API server's answer that an object is gone because of this
// process.
func (s *store[T]) deleted(name types.NamespacedName, uid types.UID) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.at(name)
	about := func(n news) bool { return n.uid == uid }
	confirmed := slices.ContainsFunc(e.held, func(n news) bool { return about(n) && n.what == Deleted })
	if e.held = slices.DeleteFunc(e.held, about); confirmed {
		s.tidy(name, e)
		return
	}
	// Where the initial list is not in, it may still come to know the object.
	if !s.synced || e.rec != nil && e.rec.uid == uid {
		s.unindex(name, e)
		e.rec, e.tombstone, e.doubtful = nil, uid, false
	}
	s.tidy(name, e)
}

// gone takes the API server's answer that an object was deleted by somebody else. The
// watch will report the deletion; until then the object is doubtful.
func (s *store[T]) gone(name types.NamespacedName) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil && e.rec != nil {
		e.doubtful = true
	}
}

// lost takes the API server's answer that somebody else wrote first. An object that the
// store does not know yet may have the keys, and is indexed for them.
func (s *store[T]) lost(name types.NamespacedName, keys []string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.at(name)
	e.doubtful = true
	if e.rec == nil {
		s.index(name, e, keys)
	}
}

// take empties the queue of news.
func (s *store[T]) take() []news {
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := s.news
	s.news = nil
	return queued
}

// outlived reports whether the watch has come past r, and the object is gone by then.
func (s *store[T]) outlived(e *entry[T], r *record[T]) bool {
	return e.rec == nil && r.version <= s.seen
}

// accept takes a version of an object, which is news if it is newer than the known one.
func (s *store[T]) accept(e *entry[T], r *record[T]) {
	if r.version <= e.version || r.uid == e.tombstone {
		return
	}
	what := Updated
	if e.rec == nil {
		what = Added
	}
	s.put(e, r)
	s.tell(e, what, r)
}

// vanish records that the object was deleted by somebody else.
func (s *store[T]) vanish(e *entry[T], version uint64) {
	if e.rec == nil {
		return
	}
	last := e.rec
	s.unindex(last.name, e)
	e.rec, e.version, e.doubtful = nil, version, false
	s.tellGone(e, last, version)
}

// tellGone queues the news that an object was deleted, at version or earlier.
func (s *store[T]) tellGone(e *entry[T], last *record[T], version uint64) {
	gone := *last
	gone.version = version
	s.tell(e, Deleted, &gone)
}

// put makes r the newest version, unless a newer one is known.
func (s *store[T]) put(e *entry[T], r *record[T]) {
	if e.rec != nil && r.version <= e.version {
		return
	}
	e.rec, e.version, e.tombstone, e.doubtful = r, r.version, "", false
	s.index(r.name, e, r.keys)
}

// tell queues news, or holds it while this process writes the object.
func (s *store[T]) tell(e *entry[T], what ChangeType, r *record[T]) {
	n := news{what: what, name: r.name, uid: r.uid, version: r.version}
	if e.writers > 0 {
		e.held = append(e.held, n)
		return
	}
	s.queue(n)
}

func (s *store[T]) queue(n news) {
	s.news = append(s.news, n)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *store[T]) at(name types.NamespacedName) *entry[T] {
	e := s.entries[name]
	if e == nil {
		e = &entry[T]{}
		s.entries[name] = e
	}
	return e
}

// tidy forgets a name of which nothing has to be remembered.
func (s *store[T]) tidy(name types.NamespacedName, e *entry[T]) {
	if e.rec == nil && e.tombstone == "" && !e.doubtful && e.writers == 0 && len(e.held) == 0 {
		s.unindex(name, e)
		delete(s.entries, name)
	}
}
