// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"container/list"
	"slices"
	"sync/atomic"
	"time"
)

// entry is a hint on its way through one queue.
type entry struct {
	hint
	lane     string      // that it is in; a hint that takes its place stays there
	attempts int         // that failed
	timer    *time.Timer // of the retry that it waits for; nil otherwise
	pressing *time.Timer // while what is in bulk makes room for it; nil otherwise
}

// lane is what a queue holds of one partition key.
type lane struct {
	entries []*entry      // in the order of their arrival
	busy    bool          // one of the lane's entries runs
	bulk    bool          // it is among the ready ones that give way
	at      *list.Element // among the ready ones; nil: it is not
}

// givesWay tells whether all of its entries give way to those of other lanes.
func (l *lane) givesWay() bool {
	return !slices.ContainsFunc(l.entries, func(e *entry) bool { return e.pace != bulk })
}

// bulkShare is the share of lanes that give way while others are ready: one start in so
// many is theirs. crowdShare is their share beside a crowd.
const (
	bulkShare  = 8
	crowdShare = 2
)

// queue is what one Trigger has to hand to its subscriber. All but spec is
// guarded by the broker's lock.
//
// A lane is in ready, or in bulk if all of its entries give way, if and only if it has
// entries and is not busy. An entry is in waiting from its arrival until it starts, and
// again while it waits for a retry.
type queue struct {
	name    string
	spec    atomic.Pointer[spec]
	waiting map[string]*entry // by coalescing key
	lanes   map[string]*lane  // by partition key; none is empty and idle
	ready   list.List         // of the keys of lanes
	bulk    list.List         // of the keys of those that give way
	started int               // entries, while both were ready
	running int
	removed bool
	count   Counters
}

func newQueue(name string) *queue {
	return &queue{name: name, waiting: map[string]*entry{}, lanes: map[string]*lane{}}
}

// arrival tells what became of a hint that was put into a queue.
type arrival int

const (
	added    arrival = iota // a new entry
	replaced                // it took the place of one that was queued
	woken                   // it took the place of one that waited for a retry
)

func (q *queue) put(h hint) (*entry, arrival) {
	e := q.waiting[h.key]
	if e == nil {
		e = &entry{hint: h, lane: h.lane}
		q.waiting[h.key] = e
		q.enqueue(e)
		return e, added
	}
	q.count.Coalesced++
	e.hint, e.attempts = h.inPlaceOf(e.hint), 0
	if e.timer == nil {
		q.lineUp(e.lane)
		return e, replaced
	}
	e.timer.Stop()
	e.timer = nil
	q.enqueue(e)
	return e, woken
}

// enqueue appends an entry that is in waiting to its lane.
func (q *queue) enqueue(e *entry) {
	l := q.lanes[e.lane]
	if l == nil {
		l = &lane{}
		q.lanes[e.lane] = l
	}
	l.entries = append(l.entries, e)
	q.lineUp(e.lane)
}

// lineUp puts a lane among the ready ones that it belongs to, at the end; one that is
// there keeps its place.
func (q *queue) lineUp(name string) {
	l := q.lanes[name]
	bulk := l.givesWay()
	if l.busy || len(l.entries) == 0 || l.at != nil && l.bulk == bulk {
		return
	}
	if l.at != nil {
		q.of(l).Remove(l.at)
	}
	l.bulk = bulk
	l.at = q.of(l).PushBack(name)
}

func (q *queue) of(l *lane) *list.List {
	if l.bulk {
		return &q.bulk
	}
	return &q.ready
}

// start takes the next entry that may run; nil where there is none, or only one that
// gives way and may not run now. One start in so many as share says is of what gives way,
// while both are ready. Its lane is busy until finish.
func (q *queue) start(bulk bool, share int) *entry {
	from := &q.ready
	switch {
	case !bulk:
	case from.Len() == 0:
		from = &q.bulk
	case q.bulk.Len() > 0:
		if q.started++; q.started%share == 0 {
			from = &q.bulk
		}
	}
	front := from.Front()
	if front == nil {
		return nil
	}
	l := q.lanes[from.Remove(front).(string)]
	e := l.entries[0]
	l.entries[0], l.entries = nil, l.entries[1:]
	l.busy, l.at = true, nil
	delete(q.waiting, e.key)
	q.running++
	return e
}

// finish frees the lane of an entry that ran.
func (q *queue) finish(e *entry) {
	q.running--
	l := q.lanes[e.lane]
	l.busy = false
	if len(l.entries) > 0 {
		q.lineUp(e.lane)
	} else {
		delete(q.lanes, e.lane)
	}
}

// clear drops all that waits, and tells how much of it was queued and how much
// waited for a retry. The queue takes nothing from then on.
func (q *queue) clear() (queued, retrying int) {
	q.removed = true
	for _, e := range q.waiting {
		if e.timer != nil {
			e.timer.Stop()
			retrying++
		} else {
			queued++
		}
	}
	clear(q.waiting)
	q.ready.Init()
	q.bulk.Init()
	for _, l := range q.lanes {
		l.entries = nil
	}
	return queued, retrying
}

// asleep counts the entries that wait for a retry.
func (q *queue) asleep() (n int) {
	for _, e := range q.waiting {
		if e.timer != nil {
			n++
		}
	}
	return n
}
