// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweeping decides which of the objects that a sweep found it announces, and
// how urgent a Work is.
//
// Invariants:
//   - An entry that every sweep finds is announced within a bounded number of sweeps.
//     The bound depends only on how many entries are found, not on what becomes of the
//     others.
//   - Lanes take turns: one with a thousand entries delays no other.
//   - Where all fit into one sweep, nothing is remembered.
//
// It must not announce, nor know what an entry is.
package sweeping

import (
	"cmp"
	"slices"
)

// Entry is something that a sweep may announce.
type Entry[T any] struct {
	// Lane is the group of the entry, such as its member or namespace. Lanes take turns.
	Lane string
	// ID is unique in the lane, and the same in each sweep.
	ID    string
	Value T
}

// Round is how far earlier sweeps came: for each lane that is not finished, the ID of
// the entry that was announced last. A nil Round begins from the start.
type Round map[string]string

// lastLane is the key under which a Round keeps the name of the lane that was served
// last. No lane has an empty name.
const lastLane = ""

// Pick chooses at most n entries, from one lane after the other in turns, and continues
// where the previous round ended.
func Pick[T any](found []Entry[T], n int, before Round) ([]T, Round) {
	lanes := map[string][]Entry[T]{}
	for _, e := range found {
		lanes[e.Lane] = append(lanes[e.Lane], e)
	}
	names := make([]string, 0, len(lanes))
	for name := range lanes {
		lanes[name] = after(lanes[name], before[name], func(e Entry[T]) string { return e.ID })
		names = append(names, name)
	}
	names = after(names, before[lastLane], func(name string) string { return name })
	var picked []T
	next := Round{}
	for i := 0; len(picked) < min(n, len(found)); i++ {
		for _, name := range names {
			if i >= len(lanes[name]) || len(picked) == n {
				continue
			}
			e := lanes[name][i]
			picked = append(picked, e.Value)
			next[name], next[lastLane] = e.ID, name
		}
	}
	if len(picked) == len(found) {
		return picked, nil
	}
	return picked, settle(next, lanes, before)
}

// Revisit chooses at most n entries of the lanes in due, in turns; in each lane it
// starts behind the entry that due names. It also returns what is due afterwards: lanes
// of which entries are left. A lane that becomes due again and again, such as that of a
// member which every sweep finds lost, gets its share and delays no other.
func Revisit[T any](found []Entry[T], n int, due Round) ([]T, Round) {
	lanes := map[string][]Entry[T]{}
	for _, e := range found {
		if last, is := due[e.Lane]; is && e.ID > last {
			lanes[e.Lane] = append(lanes[e.Lane], e)
		}
	}
	names, open := make([]string, 0, len(lanes)), 0
	for name, entries := range lanes {
		slices.SortFunc(entries, func(a, b Entry[T]) int { return cmp.Compare(a.ID, b.ID) })
		names, open = append(names, name), open+len(entries)
	}
	names = after(names, due[lastLane], func(name string) string { return name })
	var picked []T
	next := Round{}
	for i := 0; len(picked) < min(n, open); i++ {
		for _, name := range names {
			if i < len(lanes[name]) && len(picked) < n {
				e := lanes[name][i]
				picked = append(picked, e.Value)
				next[name], next[lastLane] = e.ID, name
			}
		}
	}
	if len(picked) == open {
		return picked, nil
	}
	for name, entries := range lanes {
		last, served := next[name]
		switch {
		case !served:
			next[name] = due[name]
		case last == entries[len(entries)-1].ID:
			delete(next, name)
		}
	}
	return picked, next
}

// settle removes finished lanes from next, and carries over from before the positions
// of lanes that had no turn.
func settle[T any](next Round, lanes map[string][]Entry[T], before Round) Round {
	for name, entries := range lanes {
		last, served := next[name]
		switch {
		case served && last == entries[len(entries)-1].ID:
			delete(next, name)
		case !served && before[name] != "":
			next[name] = before[name]
		}
	}
	return next
}

// after returns the list sorted by id and rotated, so that it begins behind the id
// last.
func after[T any](list []T, last string, id func(T) string) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	i := slices.IndexFunc(list, func(v T) bool { return id(v) > last })
	if last == "" || i < 0 {
		return list
	}
	return slices.Concat(list[i:], list[:i])
}
