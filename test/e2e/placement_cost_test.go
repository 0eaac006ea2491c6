// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// ledger counts the writes to a placement and to what is made of it, by kind.
type ledger struct {
	mu     sync.Mutex
	writes map[string]int
}

func (l *ledger) total() (n int, of string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var each []string
	for kind, count := range l.writes {
		n += count
		each = append(each, fmt.Sprintf("%s %d", kind, count))
	}
	slices.Sort(each)
	return n, strings.Join(each, ", ")
}

// Writes counts from now on the writes that people did not make.
func (s *scenario) Writes(p thing) *ledger {
	s.Helper()
	l := &ledger{writes: map[string]int{}}
	made := metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()}
	for r, of := range map[resource]metav1.ListOptions{
		placements: {FieldSelector: "metadata.name=" + p.name()}, policySnapshots: made, snapshots: made, pickBindings: made, placedWorks: made,
	} {
		list, err := s.lab.hub.on(r, "").List(s.Context(), of)
		if err != nil {
			s.Fatal(err)
		}
		of.ResourceVersion = list.GetResourceVersion()
		w, err := s.lab.hub.on(r, "").Watch(s.Context(), of)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(w.Stop)
		go l.note(r.kind, w)
	}
	return l
}

func (l *ledger) note(kind string, w watch.Interface) {
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || kind == placements.kind && e.Type == watch.Added {
			continue // people make the placement
		}
		if kind == placements.kind && o.GetDeletionTimestamp() != nil {
			return
		}
		l.mu.Lock()
		l.writes[kind]++
		l.mu.Unlock()
	}
}

// What a placement costs the hub depends on the members, and not on the objects: with
// all that is told of it, 5 writes and 4 for each member; a change of what is placed 4
// and 4. At rest, nothing is written.
func TestWritesForAPlacement(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		for i := range 20 {
			s.Apply(newThing(configMaps, cm.namespace(), fmt.Sprintf("more-%02d", i)).with("data.page", "one"))
		}
		l := s.Writes(p)
		s.Apply(p)
		s.Says(p, carried...)
		s.Settle()
		s.costs(l, 5+4*len(members))
		before, _ := l.total()
		s.Settle()
		if after, of := l.total(); after != before {
			s.Errorf("%d writes at rest: %s", after-before, of)
		}
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
		s.Settle()
		s.costs(l, before+4+4*len(members))
	})
}

func (s *scenario) costs(l *ledger, most int) {
	s.Helper()
	n, of := l.total()
	s.Logf("%d writes, at most %d: %s", n, most, of)
	if n == 0 || n > most {
		s.Errorf("%d writes, want at most %d: %s", n, most, of)
	}
}
