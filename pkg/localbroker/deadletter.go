// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"container/list"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

// DeadLetter is an event that a stage could not handle.
type DeadLetter struct {
	Trigger  string
	Stage    string
	Event    event.Event // without its data, where that exceeds the limit
	Outcome  function.Outcome
	Reason   string
	Err      error
	Attempts int
	Time     time.Time // of the last attempt
}

// Transient tells whether the event may be handled yet.
func (d DeadLetter) Transient() bool { return d.Outcome != function.Terminal }

// letter is a dead letter in its place.
type letter struct {
	DeadLetter
	key   string // coalescing key
	place *list.Element
}

// deadLetters holds the newest dead letter of each Trigger and coalescing key,
// the oldest first, at most limit of them.
type deadLetters struct {
	limit int
	byKey map[string]*letter
	order list.List
}

func (d *deadLetters) add(l DeadLetter, key string) {
	d.forget(l.Trigger, key)
	x := &letter{DeadLetter: l, key: key}
	x.place = d.order.PushBack(x)
	d.byKey[l.Trigger+"\x00"+key] = x
	if d.order.Len() > d.limit {
		d.remove(d.order.Front().Value.(*letter))
	}
}

func (d *deadLetters) remove(x *letter) {
	d.order.Remove(x.place)
	delete(d.byKey, x.Trigger+"\x00"+x.key)
}

func (d *deadLetters) forget(trigger, key string) {
	if len(d.byKey) == 0 { // the usual case, for every event handled
		return
	}
	if x := d.byKey[trigger+"\x00"+key]; x != nil {
		d.remove(x)
	}
}

func (d *deadLetters) forgetTrigger(trigger string) {
	for _, x := range d.byKey {
		if x.Trigger == trigger {
			d.remove(x)
		}
	}
}

// list copies what there is, the oldest first.
func (d *deadLetters) list() []*letter {
	out := make([]*letter, 0, d.order.Len())
	for at := d.order.Front(); at != nil; at = at.Next() {
		out = append(out, at.Value.(*letter))
	}
	return out
}

// withoutExcess keeps one oversized event from taking the memory of thousands.
func withoutExcess(e event.Event) event.Event {
	if len(e.Data()) > events.MaxSize {
		return event.Event{Context: e.Context.Clone()}
	}
	return e
}

// DeadLetters lists what could not be handled and has not been since, the
// oldest first.
func (b *Broker) DeadLetters() []DeadLetter {
	letters := b.letters()
	out := make([]DeadLetter, len(letters))
	for i, x := range letters {
		out[i] = x.DeadLetter
	}
	return out
}

func (b *Broker) letters() []*letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead.list()
}

// Redeliver queues the dead letters that chosen selects again, and tells how
// many they were.
func (b *Broker) Redeliver(chosen func(DeadLetter) bool) int {
	letters := slices.DeleteFunc(b.letters(), func(x *letter) bool { return !chosen(x.DeadLetter) })
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, x := range letters {
		q := b.queues[x.Trigger]
		if q == nil || b.dead.byKey[x.Trigger+"\x00"+x.key] != x { // handled, or replaced, meanwhile
			continue
		}
		b.dead.remove(x)
		b.put(q, hintOf(x.Event))
		n++
	}
	return n
}
