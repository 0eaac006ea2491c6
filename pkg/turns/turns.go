// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package turns keeps what waits, by flow, and hands it out: flows take turns, and within
// one flow what came first goes first. So a flow with much to do delays another by one of
// its own at a time.
//
// It must not lock: whoever uses it does.
package turns

import "container/list"

// Turns has what waits. The zero value has nothing.
type Turns[T any] struct {
	order list.List           // of *flow[T]: who comes next
	flows map[string]*flow[T] // by name; each has something that waits
}

type flow[T any] struct {
	name  string
	waits list.List // of T
	at    *list.Element
}

// Place is where something waits.
type Place struct {
	flow string
	at   *list.Element
}

// Empty reports whether nothing waits.
func (t *Turns[T]) Empty() bool { return len(t.flows) == 0 }

// Add appends v to what waits of a flow.
func (t *Turns[T]) Add(name string, v T) *Place {
	f := t.flows[name]
	if f == nil {
		if t.flows == nil {
			t.flows = map[string]*flow[T]{}
		}
		f = &flow[T]{name: name}
		f.at = t.order.PushBack(f)
		t.flows[name] = f
	}
	return &Place{name, f.waits.PushBack(v)}
}

// Remove takes out what waits at p, which must not have been handed out.
func (t *Turns[T]) Remove(p *Place) {
	f := t.flows[p.flow]
	f.waits.Remove(p.at)
	t.leave(f)
}

// Next hands out what comes next; false: nothing waits.
func (t *Turns[T]) Next() (v T, ok bool) {
	front := t.order.Front()
	if front == nil {
		return v, false
	}
	f, _ := front.Value.(*flow[T])
	t.order.MoveToBack(front)
	v, _ = f.waits.Remove(f.waits.Front()).(T)
	t.leave(f)
	return v, true
}

// leave forgets a flow of which nothing waits.
func (t *Turns[T]) leave(f *flow[T]) {
	if f.waits.Len() == 0 {
		t.order.Remove(f.at)
		delete(t.flows, f.name)
	}
}
