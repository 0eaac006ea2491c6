// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import "container/list"

// turns are lanes that wait. Namespaces take turns, each with its lane that has waited
// longest: who has thousands delays the others by one lane each.
type turns struct {
	order list.List        // of *line, the one whose turn it is in front
	lines map[string]*line // by namespace; none is empty
	n     int              // lanes
}

// line is what waits of one namespace.
type line struct {
	namespace string
	lanes     list.List     // of *lane, in the order in which they came
	at        *list.Element // in the order of turns
}

// turn is where a lane waits.
type turn struct {
	of   *turns
	line *line
	at   *list.Element // among the line's lanes
}

func (t *turns) push(namespace string, l *lane) *turn {
	in := t.lines[namespace]
	if in == nil {
		in = &line{namespace: namespace}
		in.at = t.order.PushBack(in)
		if t.lines == nil {
			t.lines = map[string]*line{}
		}
		t.lines[namespace] = in
	}
	t.n++
	return &turn{t, in, in.lanes.PushBack(l)}
}

// next is the lane whose turn it is; nil where none waits. Its namespace is then the last.
func (t *turns) next() *lane {
	front := t.order.Front()
	if front == nil {
		return nil
	}
	t.order.MoveToBack(front)
	return front.Value.(*line).lanes.Front().Value.(*lane)
}

// leave takes the lane away that waits there.
func (p *turn) leave() {
	p.line.lanes.Remove(p.at)
	p.of.n--
	if p.line.lanes.Len() == 0 {
		p.of.order.Remove(p.line.at)
		delete(p.of.lines, p.line.namespace)
	}
}
