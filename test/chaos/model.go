// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// model is what has to be, of what people have done.
type model struct {
	living map[template]int    // how often it was written
	places map[string][]string // by namespace
	// causes are when somebody asked for what removes an object from a member.
	causes map[place][]time.Time
}

// place is a template in a member.
type place struct {
	template
	member string
}

func newModel() *model {
	return &model{living: map[template]int{}, places: map[string][]string{}, causes: map[place][]time.Time{}}
}

// list are the living templates, in an order that only depends on them.
func (m *model) list() []template {
	return slices.SortedFunc(maps.Keys(m.living), func(a, b template) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
}

func (m *model) wrote(t template, version int) { m.living[t] = version }

// removed is called in front of the deletion.
func (m *model) removed(t template, members []string, at time.Time) {
	delete(m.living, t)
	for _, name := range members {
		m.cause(t, name, at)
	}
}

// placed is called in front of the change.
func (m *model) placed(namespace string, members []string, at time.Time) {
	for _, name := range m.places[namespace] {
		if slices.Contains(members, name) {
			continue
		}
		for t := range m.living {
			if t.namespace == namespace {
				m.cause(t, name, at)
			}
		}
	}
	m.places[namespace] = members
}

func (m *model) cause(t template, member string, at time.Time) {
	p := place{t, member}
	m.causes[p] = append(m.causes[p], at)
}

// slack is what a clock may be read differently by, and a log may round.
const slack = time.Second

// unasked are the removals for which nobody had asked: in front of each there has to
// be a cause that no earlier one has used up.
func (m *model) unasked(removals map[place][]time.Time) []string {
	var all []string
	for p, times := range removals {
		slices.SortFunc(times, time.Time.Compare)
		causes := m.causes[p]
		for i, at := range times {
			if i >= len(causes) || causes[i].After(at.Add(slack)) {
				all = append(all, fmt.Sprintf("%s %s/%s was removed from %s at %s, the %d. time, and nobody had asked for it (asked for: %v)",
					p.kind, p.namespace, p.name, p.member, at.Format(time.StampMilli), i+1, stamps(causes)))
			}
		}
	}
	slices.Sort(all)
	return all
}

func stamps(times []time.Time) []string {
	all := make([]string, len(times))
	for i, t := range times {
		all[i] = t.UTC().Format(time.StampMilli)
	}
	return all
}
