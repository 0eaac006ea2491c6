// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest"
)

// delivery is an event on its way to a stage.
type delivery struct {
	event   event.Event
	stage   string
	trigger string
	// hint is equal for deliveries that tell the same.
	hint string
	lane string
}

// broker keeps what is to be delivered, and what is being handled.
type broker struct {
	routes *pipelinetest.Routes
	queue  []delivery
	// asleep are those that failed, and are tried again after the next sweep.
	asleep []delivery
	// late are copies that come when they are long forgotten.
	late    []delivery
	flights []*flight
	// ever is each hint that was ever delivered.
	ever  []delivery
	known map[string]bool
	// sent is what was delivered lately.
	sent []sent
	// count is how many events of each type there were, if somebody counts, without
	// what members told.
	count map[string]int
	fates uint64
	// started counts the flights, which go to the processes in turn.
	started int
}

func (b *broker) clear() {
	for _, f := range b.flights {
		f.coroutine.Kill()
	}
	b.flights, b.queue, b.late, b.asleep = nil, nil, nil, nil
}

// publish puts an event on all of its ways.
func (w *world) publish(e event.Event) {
	if err := e.Validate(); err != nil || len(e.Data()) > events.MaxSize {
		w.fail("a stage emitted a bad event: %v %v", err, e)
		return
	}
	b := &w.broker
	if _, member := e.Extensions()[events.ExtCluster]; b.count != nil && (events.Own(e) || !member) {
		b.count[e.Type()]++
	}
	for _, r := range b.routes.For(e) {
		if w.processes[0][r.Stage] == nil {
			continue // there are no placements in this world
		}
		lane, _ := e.Extensions()[events.ExtPartitionKey].(string)
		d := delivery{event: e, stage: r.Stage, trigger: r.Trigger, lane: r.Trigger + lane}
		d.hint = r.Trigger + "\x00" + e.Type() + "\x00" + hintOf(e)
		if b.known == nil {
			b.known = map[string]bool{}
		}
		if !b.known[d.hint] {
			b.known[d.hint] = true
			b.ever = append(b.ever, d)
		}
		b.queue = append(b.queue, d)
	}
}

// hintOf is what an event tells, without versions and reasons.
func hintOf(e event.Event) string {
	var d map[string]json.RawMessage
	if err := json.Unmarshal(e.Data(), &d); err != nil {
		return e.ID()
	}
	for _, k := range []string{"templateVersion", "policyVersion", "bindingVersion", "workVersion", "resourceVersion", "works", "reason", "message"} {
		delete(d, k)
	}
	var b bytes.Buffer
	raw, _ := json.Marshal(d) // raw messages always encode
	b.Write(raw)
	fmt.Fprint(&b, e.Extensions()[events.ExtCluster], e.Extensions()[events.ExtClusters])
	return b.String()
}

// step lets one thing happen, which dice choose.
func (w *world) step(dice *rand.Rand) {
	w.pass(time.Millisecond)
	type choice struct {
		weight int
		do     func()
	}
	var choices []choice
	total := 0
	add := func(weight int, do func()) {
		if weight > 0 {
			choices = append(choices, choice{weight, do})
			total += weight
		}
	}
	b := &w.broker
	add(12*len(b.flights), func() { w.resume(b.flights[dice.IntN(len(b.flights))], dice) })
	if len(b.flights) < w.flights {
		add(10*min(len(b.queue), 1), func() { w.startOne(dice) })
	}
	for _, kind := range w.hub.Untold() {
		add(3, func() { w.tell(kind, dice) })
	}
	for _, name := range w.names() {
		m := w.members[name]
		add(2, func() { w.tellMember(name) })
		if !m.Idle() && !m.Down {
			add(1, m.Act)
		}
	}
	if garbage := w.hub.Garbage(); len(garbage) > 0 {
		add(1, func() { w.collect(garbage[dice.IntN(len(garbage))]) })
	}
	if len(b.late) > 0 {
		add(1, func() { w.comeLate(dice) })
	}
	n := dice.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.do()
			return
		}
	}
}

// collect lets the hub's garbage collector end something.
func (w *world) collect(garbage string) {
	w.hub.Collect(garbage)
	w.safety.proofs.look(w)
}

func (w *world) comeLate(dice *rand.Rand) {
	b := &w.broker
	i := dice.IntN(len(b.late))
	b.queue = append(b.queue, b.late[i])
	b.late = slices.Delete(b.late, i, i+1)
}

// startOne begins to handle an event of the queue, if its lane is free.
func (w *world) startOne(dice *rand.Rand) {
	b := &w.broker
	i := 0
	if dice.IntN(2) == 0 {
		i = dice.IntN(len(b.queue))
	}
	d := b.queue[i]
	if w.lanes && slices.ContainsFunc(b.flights, func(f *flight) bool { return f.delivery.lane == d.lane }) {
		return
	}
	switch n := dice.IntN(100); {
	case n < 4: // it comes twice
		b.queue = append(b.queue, d)
	case n < 7 && len(b.late) < 20:
		b.late = append(b.late, d)
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	b.remember(d, w.now)
	b.fates++
	f := w.newFlight(d, dice.Uint64()|1)
	f.coroutine = pipelinetest.NewCoroutine(w.ctx, f.run)
	b.flights = append(b.flights, f)
}

func (w *world) newFlight(d delivery, fate uint64) *flight {
	b := &w.broker
	b.started++
	stage := w.processes[b.started%len(w.processes)][d.stage]
	return &flight{w: w, delivery: d, stage: stage, fate: fate, asked: map[string]int{}}
}

// resume lets a flight go on to its next request, or crashes its process.
func (w *world) resume(f *flight, dice *rand.Rand) {
	b := &w.broker
	if dice.IntN(300) == 0 {
		f.coroutine.Kill()
		w.trace("  crash   %s", f)
		b.flights = slices.DeleteFunc(b.flights, func(o *flight) bool { return o == f })
		b.queue = append(b.queue, f.delivery)
		return
	}
	if f.coroutine.Go() {
		return
	}
	b.flights = slices.DeleteFunc(b.flights, func(o *flight) bool { return o == f })
	if f.err == nil && dice.IntN(50) == 0 {
		w.trace("  crash   %s behind its last request", f)
		b.queue = append(b.queue, f.delivery)
		return
	}
	w.landed(f)
}

// landed takes the outcome of a flight: what it emits, or another attempt.
func (w *world) landed(f *flight) {
	w.trace("  %-12s %s", f.delivery.stage, f)
	switch {
	case !f.done:
		w.fail("%s panicked", f)
	case f.err == nil:
		// In some order: a stage may range over a map.
		slices.SortFunc(f.out, func(a, b event.Event) int { return cmp.Compare(a.ID(), b.ID()) })
		for _, e := range f.out {
			w.publish(e)
		}
	case outcome.IsTerminal(f.err):
		w.fail("%s: nobody can mend that: %v", f, f.err)
	case f.fate == 0:
		w.broker.asleep = append(w.broker.asleep, f.delivery)
	default:
		w.broker.queue = append(w.broker.queue, f.delivery)
	}
}

// String is for people.
func (f *flight) String() string {
	e := f.delivery.event
	s := fmt.Sprintf("%s %s", e.Type(), e.Subject())
	for _, x := range []string{events.ExtClusters, events.ExtReason} {
		if v, ok := e.Extensions()[x]; ok {
			s += fmt.Sprintf(" %s=%v", x, v)
		}
	}
	if e.Subject() == "" {
		s += " " + string(e.Data())
	}
	if f.err != nil {
		return s + " => " + f.err.Error()
	}
	for _, o := range f.out {
		s += " -> " + o.Type()
		if c, ok := o.Extensions()[events.ExtClusters]; ok {
			s += fmt.Sprintf("(%v)", c)
		}
	}
	return s
}

// maxDrain is how many deliveries may be needed until all is done.
const maxDrain = 6000

// drain delivers everything in order, each event once and at once.
func (w *world) drain() {
	b := &w.broker
	b.queue, b.asleep = append(b.queue, b.asleep...), nil
	for n := 0; w.err == nil; n++ {
		if n > maxDrain {
			w.fail("it does not come to rest; still to be delivered: %s", w.queued())
			return
		}
		w.now = w.now.Add(time.Millisecond)
		switch {
		case len(b.flights) > 0:
			w.finish(b.flights[0])
		case w.tellAll():
		case len(b.queue) > 0:
			w.handleNext()
		default:
			return
		}
	}
}

// finish lets a flight that is under way come to its end.
func (w *world) finish(f *flight) {
	for f.coroutine.Go() {
	}
	w.broker.flights = slices.DeleteFunc(w.broker.flights, func(o *flight) bool { return o == f })
	w.landed(f)
}

// handleNext handles the next event of the queue, and those that tell the same.
func (w *world) handleNext() {
	b := &w.broker
	d := b.queue[0]
	b.remember(d, w.now)
	var ids []string
	b.queue = slices.DeleteFunc(b.queue, func(o delivery) bool {
		if o.hint == d.hint {
			ids = append(ids, o.event.ID())
		}
		return o.hint == d.hint
	})
	f := w.newFlight(d, 0)
	f.run(coalesce.Covering(w.ctx, ids))
	w.landed(f)
}

// tellAll tells whatever there is to tell, and tells whether there was anything.
func (w *world) tellAll() bool {
	told := false
	for kinds := w.hub.Untold(); len(kinds) > 0; kinds = w.hub.Untold() {
		w.tell(kinds[0], nil)
		told = true
	}
	for _, g := range w.hub.Garbage() {
		w.collect(g)
		told = true
	}
	for _, name := range w.names() {
		m := w.members[name]
		for !m.Idle() && !m.Down {
			m.Act()
		}
		for w.tellMember(name) {
			told = true
		}
	}
	return told
}

func (w *world) queued() string {
	var s string
	all := slices.Concat(w.broker.queue, w.broker.asleep)
	for i, d := range all {
		if i == 8 {
			return s + fmt.Sprintf(" and %d more", len(all)-i)
		}
		s += fmt.Sprintf("\n  %s for %s", (&flight{delivery: d}).String(), d.stage)
	}
	return s
}
