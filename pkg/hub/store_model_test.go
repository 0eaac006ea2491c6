// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// world is a small API server, its watch that lags, and answers that are under
// way to the store.
type world struct {
	store   *store[string]
	version uint64
	live    map[string]*record[string]
	log     []happening
	// told is how much of the log the watch has told.
	told int
	// answers are under way, and arrive in any order.
	answers []func()
	// own are the versions that this process wrote.
	own map[uint64]types.UID
	// foreign is what somebody else did last to each name.
	foreign map[string]happening
	news    map[string][]news
}

type happening struct {
	rec  *record[string]
	gone bool
}

var worldNames = []string{"a", "b"}

func newWorld() *world {
	return &world{
		store: newStore[string](), live: map[string]*record[string]{}, own: map[uint64]types.UID{},
		foreign: map[string]happening{}, news: map[string][]news{},
	}
}

// write makes the next version of an object, or a new object.
func (w *world) write(name string, own bool) *record[string] {
	w.version++
	r := rec(name, w.version, w.version)
	if live := w.live[name]; live != nil {
		r.uid = live.uid
	}
	w.live[name] = r
	w.log = append(w.log, happening{rec: r})
	w.note(own)
	return r
}

func (w *world) remove(name string, own bool) {
	w.version++
	gone := *w.live[name]
	gone.version = w.version
	delete(w.live, name)
	w.log = append(w.log, happening{rec: &gone, gone: true})
	w.note(own)
}

// note remembers who did what happened last.
func (w *world) note(own bool) {
	h := w.log[len(w.log)-1]
	before, wrote := w.foreign[h.rec.name.Name]
	if h.gone || !wrote || before.gone || before.rec.uid != h.rec.uid {
		delete(w.foreign, h.rec.name.Name)
	}
	if own {
		w.own[w.version] = h.rec.uid
	} else {
		w.foreign[h.rec.name.Name] = h
	}
}

// heardOf tells whether this process can know that the object ever was.
func (w *world) heardOf(uid types.UID) bool {
	for _, u := range w.own {
		if u == uid {
			return true
		}
	}
	for _, all := range w.news {
		if slices.ContainsFunc(all, func(n news) bool { return n.uid == uid }) {
			return true
		}
	}
	return false
}

// commit is a write of this process on the ground of what its store knows. The
// API server does it at once, and the answer is under way.
func (w *world) commit(name string, remove bool) {
	full := types.NamespacedName{Namespace: "ns", Name: name}
	_, found, known := w.store.get(full)
	if !known || remove && !found {
		return
	}
	var base *record[string]
	if found {
		base = w.store.entries[full].rec
	}
	w.send(full, base, remove)
}

// send is a write on the ground of a version: nil is that there is no such object.
func (w *world) send(name types.NamespacedName, base *record[string], remove bool) {
	w.store.begin(name)
	answer := w.serve(name, base, remove)
	w.answers = append(w.answers, func() { answer(); w.store.end(name) })
}

// serve is what the API server makes of a commit.
func (w *world) serve(name types.NamespacedName, base *record[string], remove bool) (answer func()) {
	live := w.live[name.Name]
	switch {
	case base != nil && (live == nil || remove && live.uid != base.uid):
		return func() { w.store.gone(name) }
	case remove:
		w.remove(name.Name, true)
		return func() { w.store.deleted(name, base.uid) }
	case (base == nil) != (live == nil), base != nil && base.version != live.version:
		return func() { w.store.lost(name, by("owner-of-"+name.Name)) }
	}
	r := w.write(name.Name, true)
	return func() { w.store.wrote(r) }
}

func (w *world) look(name string) {
	full := types.NamespacedName{Namespace: "ns", Name: name}
	live := w.live[name]
	w.answers = append(w.answers, func() {
		if live == nil {
			w.store.missed(full)
		} else {
			w.store.read(live)
		}
	})
}

// list is a list of all, on the ground of which this process may write as soon as it has
// the answer: the store may be behind.
func (w *world) list(then string) {
	var all []*record[string]
	for _, r := range w.live {
		all = append(all, r)
	}
	w.answers = append(w.answers, func() {
		for _, r := range all {
			w.store.show(r)
			if r.name.Name == then {
				w.send(r.name, r, false)
			}
		}
	})
}

func (w *world) tellNext() {
	if w.told < len(w.log) {
		h := w.log[w.told]
		w.told++
		w.store.observe(h.rec, h.gone)
	}
}

func (w *world) relist() {
	var all []*record[string]
	for _, r := range w.live {
		all = append(all, r)
	}
	w.store.replace(all, w.version)
	w.told = len(w.log)
}

func (w *world) hear() {
	for _, n := range w.store.take() {
		w.news[n.name.Name] = append(w.news[n.name.Name], n)
	}
}

// TestStoreAgreesWithTheHub lets this process and others write, and delays and
// mixes what the store learns of it: in the end it knows what is there, has
// told of every foreign write that stands, and of no own one.
func TestStoreAgreesWithTheHub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.relist()
		name := rapid.SampledFrom(worldNames)
		t.Repeat(map[string]func(*rapid.T){
			"foreign write": func(t *rapid.T) { w.write(name.Draw(t, "name"), false) },
			"foreign deletion": func(t *rapid.T) {
				if n := name.Draw(t, "name"); w.live[n] != nil {
					w.remove(n, false)
				}
			},
			"commit":   func(t *rapid.T) { w.commit(name.Draw(t, "name"), false) },
			"deletion": func(t *rapid.T) { w.commit(name.Draw(t, "name"), true) },
			"list":     func(t *rapid.T) { w.list(name.Draw(t, "name")) },
			"look":     func(t *rapid.T) { w.look(name.Draw(t, "name")) },
			"watch":    func(*rapid.T) { w.tellNext() },
			"relist":   func(*rapid.T) { w.relist() },
			"answer": func(t *rapid.T) {
				if len(w.answers) > 0 {
					i := rapid.IntRange(0, len(w.answers)-1).Draw(t, "which")
					arrive := w.answers[i]
					w.answers = slices.Delete(w.answers, i, i+1)
					arrive()
				}
			},
			"": func(*rapid.T) { w.hear() },
		})
		for len(w.answers) > 0 { // one may bring another
			arrive := w.answers[0]
			w.answers = w.answers[1:]
			arrive()
		}
		for w.told < len(w.log) {
			w.tellNext()
		}
		w.hear()
		w.check(t)
	})
}

func (w *world) check(t *rapid.T) {
	for _, n := range worldNames {
		// What is doubtful is asked for, and then known.
		full := types.NamespacedName{Namespace: "ns", Name: n}
		if _, _, known := w.store.get(full); !known {
			if live := w.live[n]; live != nil {
				w.store.read(live)
			} else {
				w.store.missed(full)
			}
		}
	}
	w.hear()
	var want []string
	for _, r := range w.live {
		want = append(want, r.value)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, knownBy(w.store)); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	if got := len(w.store.entries); got != len(w.live) {
		t.Errorf("%d names are remembered, and %d are there", got, len(w.live))
	}
	for n, h := range w.foreign {
		told := slices.ContainsFunc(w.news[n], func(n news) bool { return n.version >= h.rec.version })
		if !told && (!h.gone || w.heardOf(h.rec.uid)) {
			t.Errorf("nobody was told of %+v", h)
		}
	}
	for _, all := range w.news {
		for _, n := range all {
			if w.own[n.version] != "" && n.what != Deleted {
				t.Errorf("own write told: %s %s@%d", n.what, n.name.Name, n.version)
			}
		}
	}
}
