// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import "container/list"

// turns are the lanes of a queue that may start. Namespaces take turns; the lanes of one
// start in the order in which they came.
type turns struct {
	order list.List         // of *party: who comes next
	of    map[string]*party // by namespace; each has lanes
}

// party has the lanes of one namespace.
type party struct {
	namespace string
	lanes     list.List // of *lane
	at        *list.Element
}

func (t *turns) empty() bool { return t.order.Len() == 0 }

// add appends a lane, which is in no turns yet, to those of its namespace.
func (t *turns) add(l *lane) {
	p := t.of[l.namespace]
	if p == nil {
		if t.of == nil {
			t.of = map[string]*party{}
		}
		p = &party{namespace: l.namespace}
		p.at = t.order.PushBack(p)
		t.of[l.namespace] = p
	}
	l.turns, l.at = t, p.lanes.PushBack(l)
}

// remove takes a lane out that is in t.
func (t *turns) remove(l *lane) {
	p := t.of[l.namespace]
	p.lanes.Remove(l.at)
	l.turns, l.at = nil, nil
	if p.lanes.Len() == 0 {
		t.order.Remove(p.at)
		delete(t.of, p.namespace)
	}
}

// next takes out the lane whose turn it is; nil: there is none.
func (t *turns) next() *lane {
	if t.empty() {
		return nil
	}
	p := t.order.Front().Value.(*party)
	t.order.MoveToBack(p.at)
	l := p.lanes.Front().Value.(*lane)
	t.remove(l)
	return l
}
