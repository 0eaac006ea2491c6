// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// step is something that a store takes.
type step func(*store[string])

// rec is version v of an object; its first version tells its uid.
func rec(name string, first, v uint64) *record[string] {
	return &record[string]{
		name: types.NamespacedName{Namespace: "ns", Name: name}, uid: types.UID(fmt.Sprint(name, "-", first)),
		version: v, keys: by("owner-of-" + name), value: fmt.Sprintf("%s@%d", name, v),
	}
}

func listed(version uint64, recs ...*record[string]) step {
	return func(s *store[string]) { s.replace(recs, version) }
}
func told(r *record[string]) step     { return func(s *store[string]) { s.observe(r, false) } }
func toldGone(r *record[string]) step { return func(s *store[string]) { s.observe(r, true) } }
func toldNothingUpTo(version uint64) step {
	return func(s *store[string]) { s.progress(version) }
}
func readLive(r *record[string]) step { return func(s *store[string]) { s.read(r) } }
func shown(r *record[string]) step    { return func(s *store[string]) { s.show(r) } }
func readMissed(name string) step {
	return func(s *store[string]) { s.missed(types.NamespacedName{Namespace: "ns", Name: name}) }
}
func began(name string) step {
	return func(s *store[string]) { s.begin(types.NamespacedName{Namespace: "ns", Name: name}) }
}
func ended(name string) step {
	return func(s *store[string]) { s.end(types.NamespacedName{Namespace: "ns", Name: name}) }
}
func answered(r *record[string]) step { return func(s *store[string]) { s.wrote(r) } }
func answeredDeleted(r *record[string]) step {
	return func(s *store[string]) { s.deleted(r.name, r.uid) }
}
func answeredConflict(name string) step {
	return func(s *store[string]) {
		s.lost(types.NamespacedName{Namespace: "ns", Name: name}, by("owner-of-"+name))
	}
}
func answeredMissing(name string) step {
	return func(s *store[string]) { s.gone(types.NamespacedName{Namespace: "ns", Name: name}) }
}

func wentBack(s *store[string]) { s.setBack() }
func cut(s *store[string])      { s.setBroken(true) }

// saying is that version with another value.
func saying(value string, r *record[string]) *record[string] {
	r.value = value
	return r
}

func wrote(r *record[string]) step {
	return func(s *store[string]) { s.begin(r.name); s.wrote(r); s.end(r.name) }
}
func deleted(r *record[string]) step {
	return func(s *store[string]) { s.begin(r.name); s.deleted(r.name, r.uid); s.end(r.name) }
}

// final is the answer to the write that lets an object go.
func final(r *record[string]) *record[string] {
	r.final = true
	return r
}

func TestStore(t *testing.T) {
	a5 := rec("a", 5, 5)
	for sentence, tc := range map[string]struct {
		steps []step
		// wantNews is what is to be told after the last step.
		wantNews []string
		// wantKnown are the values known in the end, and doubtful names.
		wantKnown []string
	}{
		"the initial list is news as a whole": {
			steps:     []step{listed(9, a5, rec("b", 7, 7))},
			wantNews:  []string{"Added a@5", "Added b@7"},
			wantKnown: []string{"a@5", "b@7"},
		},
		"what somebody else writes is news": {
			steps:     []step{listed(9), told(rec("a", 10, 10)), told(rec("a", 10, 12)), toldGone(rec("a", 10, 13))},
			wantNews:  []string{"Added a@10", "Updated a@12", "Deleted a@13"},
			wantKnown: nil,
		},
		"the own write is no news when the watch tells of it": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 10)), told(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@10"},
		},
		"the own write is no news when the watch is quicker than the answer": {
			steps:     []step{listed(9, a5), began("a"), told(rec("a", 5, 10)), answered(rec("a", 5, 10)), ended("a")},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@10"},
		},
		"what somebody else wrote is news although another writer of this process wrote upon it": {
			steps: []step{
				listed(9, a5), began("a"), told(rec("a", 5, 10)),
				began("a"), answeredConflict("a"), ended("a"), answered(rec("a", 5, 11)), ended("a"),
			},
			wantNews:  []string{"Added a@5", "Updated a@10"},
			wantKnown: []string{"a@11"},
		},
		"what a list of this process shows is news, once": {
			steps:     []step{listed(9, a5), shown(rec("a", 5, 10)), wrote(rec("a", 5, 11)), told(rec("a", 5, 10)), told(rec("a", 5, 11))},
			wantNews:  []string{"Added a@5", "Updated a@10"},
			wantKnown: []string{"a@11"},
		},
		"a list of a moment ago does not settle a doubt": {
			steps:     []step{listed(9, a5), began("a"), answeredConflict("a"), ended("a"), shown(a5)},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"doubt a"},
		},
		"a list of this process tells nothing before the initial list": {
			steps:     []step{shown(a5), listed(9, a5)},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@5"},
		},
		"the own write is no news when a live read is quicker than the answer": {
			steps:     []step{listed(9, a5), began("a"), readLive(rec("a", 5, 10)), answered(rec("a", 5, 10)), ended("a")},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@10"},
		},
		"a list with an older version of what it has come past is of a hub that went back": {
			steps:     []step{listed(9, a5, rec("b", 7, 7)), told(rec("a", 5, 12)), listed(40, rec("a", 5, 11), rec("b", 7, 7))},
			wantNews:  []string{"Added a@5", "Added b@7", "Updated a@12", "Updated a@11", "Updated b@7"},
			wantKnown: []string{"a@11", "b@7"},
		},
		"so is one that answers an own write with a version that was known, while nobody tells what happens": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 12)), cut, wrote(saying("else", rec("a", 5, 12))), listed(40, saying("else", rec("a", 5, 12)))},
			wantNews:  []string{"Added a@5", "Updated a@12"},
			wantKnown: []string{"else"},
		},
		"but not where a live read was quicker than the answer": {
			steps:     []step{listed(9, a5, rec("b", 7, 7)), cut, began("a"), readLive(rec("a", 5, 12)), answered(rec("a", 5, 12)), ended("a"), listed(40, rec("a", 5, 12), rec("b", 7, 7))},
			wantNews:  []string{"Added a@5", "Added b@7"},
			wantKnown: []string{"a@12", "b@7"},
		},
		"one that is older than an own write is not": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 12)), listed(11, a5)},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@12"},
		},
		"an older word of the watch takes nothing back": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 12)), told(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@12"},
		},
		"what follows the own write is news": {
			steps:     []step{listed(9, a5), began("a"), told(rec("a", 5, 10)), told(rec("a", 5, 11)), answered(rec("a", 5, 10)), ended("a")},
			wantNews:  []string{"Added a@5", "Updated a@11"},
			wantKnown: []string{"a@11"},
		},
		"news is held while a write is under way, and told when it has failed": {
			steps:     []step{listed(9, a5), began("a"), told(rec("a", 5, 10)), answeredConflict("a"), ended("a")},
			wantNews:  []string{"Added a@5", "Updated a@10"},
			wantKnown: []string{"doubt a"},
		},
		"two writes under way hold news until both have ended": {
			steps:     []step{listed(9, a5), began("a"), began("a"), told(rec("a", 5, 10)), answeredConflict("a"), ended("a"), answered(rec("a", 5, 10)), ended("a")},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"doubt a"},
		},
		"an object of the own making is no news": {
			steps:     []step{listed(9), wrote(rec("a", 10, 10)), told(rec("a", 10, 10))},
			wantKnown: []string{"a@10"},
		},
		"the own deletion is no news": {
			steps:    []step{listed(9, a5), deleted(a5), toldGone(rec("a", 5, 10))},
			wantNews: []string{"Added a@5"},
		},
		"the own deletion is no news when the watch is quicker than the answer": {
			steps:    []step{listed(9, a5), began("a"), toldGone(rec("a", 5, 10)), answeredDeleted(a5), ended("a")},
			wantNews: []string{"Added a@5"},
		},
		"a late word of what was deleted raises nobody from the dead": {
			steps:    []step{listed(9, a5), deleted(a5), told(rec("a", 5, 10)), readLive(rec("a", 5, 10)), answered(rec("a", 5, 10))},
			wantNews: []string{"Added a@5"},
		},
		"an answer that comes after the watch told of the end raises nobody from the dead": {
			steps:    []step{listed(9, a5), began("a"), toldGone(rec("a", 5, 11)), answered(rec("a", 5, 10)), ended("a"), readLive(rec("a", 5, 10))},
			wantNews: []string{"Added a@5", "Deleted a@11"},
		},
		"another object of the name of a deleted one is news": {
			steps:     []step{listed(9, a5), deleted(a5), told(rec("a", 11, 11)), toldGone(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5", "Added a@11"},
			wantKnown: []string{"a@11"},
		},
		"an object of the own making survives the word of its predecessor's end": {
			steps:     []step{listed(9, a5), deleted(a5), wrote(rec("a", 11, 11)), toldGone(rec("a", 5, 10)), told(rec("a", 11, 11))},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@11"},
		},
		"an object that waits for its finalizers stays known": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 10)), told(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@10"},
		},
		"the write that lets an object go is a deletion": {
			steps:    []step{listed(9, a5), wrote(rec("a", 5, 10)), wrote(final(rec("a", 5, 11))), told(rec("a", 5, 10)), toldGone(rec("a", 5, 11))},
			wantNews: []string{"Added a@5"},
		},
		"after a lost race the object is doubtful": {
			steps:     []step{listed(9, a5), began("a"), answeredConflict("a"), ended("a")},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"doubt a"},
		},
		"a live read ends the doubt, and what it finds is news, once": {
			steps:     []step{listed(9, a5), answeredConflict("a"), readLive(rec("a", 5, 10)), told(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5", "Updated a@10"},
			wantKnown: []string{"a@10"},
		},
		"the watch ends the doubt": {
			steps:     []step{listed(9, a5), answeredConflict("a"), told(rec("a", 5, 10))},
			wantNews:  []string{"Added a@5", "Updated a@10"},
			wantKnown: []string{"a@10"},
		},
		"a name that somebody else has taken is doubtful": {
			steps:     []step{listed(9), began("a"), answeredConflict("a"), ended("a")},
			wantKnown: []string{"doubt a"},
		},
		"a taken name that is free again is forgotten": {
			steps: []step{listed(9), answeredConflict("a"), readMissed("a")},
		},
		"an object that a live read misses is doubtful until the watch tells": {
			steps:     []step{listed(9, a5), answeredMissing("a"), readMissed("a")},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"doubt a"},
		},
		"the watch tells of the end of an object that a write has missed": {
			steps:    []step{listed(9, a5), answeredMissing("a"), toldGone(rec("a", 5, 10))},
			wantNews: []string{"Added a@5", "Deleted a@10"},
		},
		"after a lost watch, what is newer is news": {
			steps:     []step{listed(9, a5, rec("b", 6, 6)), listed(20, rec("a", 5, 15), rec("b", 6, 6), rec("c", 16, 16))},
			wantNews:  []string{"Added a@5", "Added b@6", "Updated a@15", "Added c@16"},
			wantKnown: []string{"a@15", "b@6", "c@16"},
		},
		"after a lost watch, what has disappeared is news": {
			steps:     []step{listed(9, a5, rec("b", 6, 6)), listed(20, rec("b", 6, 6))},
			wantNews:  []string{"Added a@5", "Added b@6", "Deleted a@20"},
			wantKnown: []string{"b@6"},
		},
		"after a lost watch, own writes are no news": {
			steps:     []step{listed(9, a5, rec("b", 6, 6)), wrote(rec("a", 5, 10)), deleted(rec("b", 6, 6)), listed(20, rec("a", 5, 10))},
			wantNews:  []string{"Added a@5", "Added b@6"},
			wantKnown: []string{"a@10"},
		},
		"an own write that is newer than a list stays": {
			steps:     []step{listed(9, a5), wrote(rec("a", 5, 30)), wrote(rec("b", 31, 31)), listed(20, a5)},
			wantNews:  []string{"Added a@5"},
			wantKnown: []string{"a@30", "b@31"},
		},
		"an own deletion that is newer than a list stays": {
			steps:    []step{listed(9, a5), deleted(a5), listed(9, a5), toldGone(rec("a", 5, 10))},
			wantNews: []string{"Added a@5"},
		},
		"own writes before the initial list is in are not lost": {
			steps:     []step{wrote(rec("a", 5, 10)), deleted(rec("b", 6, 6)), wrote(rec("c", 11, 11)), listed(9, a5, rec("b", 6, 6))},
			wantNews:  []string{"Added a@10"},
			wantKnown: []string{"a@10", "c@11"},
		},
		"a hub that was set back to an earlier state counts": {
			steps:     []step{listed(90, rec("a", 5, 50), rec("b", 6, 6)), listed(40, rec("a", 5, 30))},
			wantNews:  []string{"Added a@50", "Added b@6", "Updated a@30", "Deleted b@40"},
			wantKnown: []string{"a@30"},
		},
		"a hub that was set back behind the own writes counts, though the watch had not told of these": {
			steps:     []step{listed(9, a5, rec("b", 6, 6)), wrote(rec("a", 5, 30)), wrote(rec("c", 31, 31)), wentBack, listed(20, a5, rec("b", 6, 12))},
			wantNews:  []string{"Added a@5", "Added b@6", "Updated a@5", "Updated b@12", "Deleted c@20"},
			wantKnown: []string{"a@5", "b@12"},
		},
		"that is so once": {
			steps:     []step{listed(9, a5), wentBack, listed(20, a5), wrote(rec("a", 5, 30)), listed(20, a5)},
			wantNews:  []string{"Added a@5", "Updated a@5"},
			wantKnown: []string{"a@30"},
		},
		"a bookmark lets an answer from before it raise nobody from the dead": {
			steps: []step{listed(9), toldNothingUpTo(20), readLive(rec("a", 5, 15))},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newStore[string]()
			for _, step := range tc.steps {
				step(s)
			}
			if diff := cmp.Diff(tc.wantNews, newsOf(s)); diff != "" {
				t.Errorf("news (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantKnown, knownBy(s)); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
		})
	}
}

func newsOf(s *store[string]) []string {
	var all []string
	for _, n := range s.take() {
		all = append(all, fmt.Sprintf("%s %s@%d", n.what, n.name.Name, n.version))
	}
	return all
}

func knownBy(s *store[string]) []string {
	found, doubtful, _ := s.list("")
	var all []string
	for _, r := range found {
		all = append(all, r.value)
	}
	for _, name := range doubtful {
		all = append(all, "doubt "+name.Name)
	}
	slices.Sort(all)
	return all
}

func TestStoreFindsByOwner(t *testing.T) {
	for sentence, tc := range map[string]struct {
		steps        []step
		want         []string
		wantDoubtful []string
	}{
		"an object is found":                              {steps: []step{listed(9, rec("a", 5, 5), rec("b", 6, 6))}, want: []string{"a@5"}},
		"a newer version replaces the older":              {steps: []step{listed(9, rec("a", 5, 5)), wrote(rec("a", 5, 10))}, want: []string{"a@10"}},
		"a deleted object is not found":                   {steps: []step{listed(9, rec("a", 5, 5)), deleted(rec("a", 5, 5))}},
		"an object that is gone is not found":             {steps: []step{listed(9, rec("a", 5, 5)), toldGone(rec("a", 5, 10))}},
		"what somebody else made in the way is doubtful":  {steps: []step{listed(9), answeredConflict("a")}, wantDoubtful: []string{"a"}},
		"what changes its owner is found by the new only": {steps: []step{listed(9, rec("a", 5, 5)), told(&record[string]{name: rec("a", 5, 5).name, uid: "a-5", version: 10, keys: by("another")})}},
		"what has no owner any more is not found":         {steps: []step{listed(9, rec("a", 5, 5)), told(&record[string]{name: rec("a", 5, 5).name, uid: "a-5", version: 10})}},
		"what has it among others is found":               {steps: []step{listed(9, &record[string]{name: rec("a", 5, 5).name, uid: "a-5", version: 9, keys: []string{"another", "owner-of-a"}, value: "a@9"})}, want: []string{"a@9"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newStore[string]()
			for _, step := range tc.steps {
				step(s)
			}
			found, doubtful, known := s.listBy("owner-of-a")
			if !known {
				t.Fatal("the store does not know")
			}
			var values, names []string
			for _, r := range found {
				values = append(values, r.value)
			}
			for _, name := range doubtful {
				names = append(names, name.Name)
			}
			if diff := cmp.Diff(tc.want, values); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantDoubtful, names); diff != "" {
				t.Errorf("doubtful (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStoreKnowsNothingBeforeTheInitialList(t *testing.T) {
	var none *store[string]
	filling := newStore[string]()
	filling.wrote(rec("a", 5, 5))
	for sentence, s := range map[string]*store[string]{"a nil store": none, "a store without its initial list": filling} {
		t.Run(sentence, func(t *testing.T) {
			if _, _, known := s.get(rec("a", 5, 5).name); known {
				t.Error("get: known")
			}
			if _, _, known := s.list(""); known {
				t.Error("list: known")
			}
			if _, _, known := s.listBy("owner-of-a"); known {
				t.Error("listBy: known")
			}
		})
	}
}

func TestZ21AStoreKnowsHowFarTheHubHasCome(t *testing.T) {
	a := rec("a", 5, 5)
	for sentence, tc := range map[string]struct {
		steps []step
		want  uint64
	}{
		"nothing was told":                            {},
		"to the version of the list":                  {[]step{listed(9, a)}, 9},
		"to what the watch told":                      {[]step{listed(9, a), told(rec("a", 5, 12)), toldNothingUpTo(15)}, 15},
		"to its own write":                            {[]step{listed(9, a), wrote(rec("a", 5, 12))}, 12},
		"not behind what the watch told":              {[]step{listed(9, a), wrote(rec("a", 5, 12)), toldNothingUpTo(15)}, 15},
		"a hub that went back has come to what it is": {[]step{listed(9, a), wrote(rec("a", 5, 12)), wentBack, listed(10, a)}, 10},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newStore[string]()
			for _, step := range tc.steps {
				step(s)
			}
			if got := s.newest(); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestZ21AStoreIsNotBelievedWhileItsWatchIsBroken(t *testing.T) {
	s := newStore[string]()
	listed(9, rec("a", 5, 5))(s)
	knows := func() bool {
		_, _, one := s.get(rec("a", 5, 5).name)
		_, _, all := s.list("")
		if one != all || all != s.ready() {
			t.Errorf("it knows one: %t, all: %t", one, all)
		}
		return all
	}
	s.setClosed(true)
	if knows() {
		t.Error("it is believed although its watch has ended")
	}
	s.setBroken(true)
	s.setClosed(false)
	if knows() || !s.begun() {
		t.Error("it is believed although nobody tells what happened since")
	}
	s.setBroken(false)
	if !knows() {
		t.Error("the watch goes on, and it is not believed")
	}
	s.setBroken(true)
	s.setClosed(true)
	listed(7, rec("a", 5, 5))(s)
	if !knows() {
		t.Error("all was listed anew, and it is not believed")
	}
}
