// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/test/pipelinetest"
)

// What befalls a Broker and a sweeper of several processes.
const (
	redeliver verb = "deliver the last minute again"
	twoSweeps verb = "two sweeps at once"
)

// lately is how far back a Broker goes that delivers again.
const lately = time.Minute

// sent is what was delivered, and when.
type sent struct {
	delivery
	at time.Time
}

// remember keeps what is delivered as long as it may be delivered again.
func (b *broker) remember(d delivery, now time.Time) {
	b.sent = append(b.sent, sent{d, now})
	old := slices.IndexFunc(b.sent, func(s sent) bool { return now.Sub(s.at) <= lately })
	b.sent = b.sent[old:]
}

// redeliver queues everything that was delivered in the last minute, in its order. What
// fails is delivered again anyhow.
func (w *world) redeliver() {
	for _, s := range w.broker.sent {
		if w.now.Sub(s.at) <= lately {
			w.broker.queue = append(w.broker.queue, s.delivery)
			w.did[redeliver]++
		}
	}
}

// sweepTwice has both processes sweep at once, while others are at work.
func (w *world) sweepTwice(o op) {
	dice := rand.New(rand.NewPCG(o.seed, 2))
	b := &w.broker
	for range w.processes {
		w.pass(time.Millisecond)
		w.tick()
		i := slices.IndexFunc(b.queue, func(d delivery) bool { return d.stage == sweeper.Name })
		b.fates++
		f := w.newFlight(b.queue[i], dice.Uint64()|1)
		b.queue = slices.Delete(b.queue, i, i+1)
		f.coroutine = pipelinetest.NewCoroutine(w.ctx, f.run)
		b.flights = append(b.flights, f)
	}
	for range o.n {
		if w.err != nil {
			return
		}
		if w.step(dice); w.sweeping() == len(w.processes) {
			w.did[twoSweeps]++
		}
	}
}

// sweeping counts the sweeps that are under way.
func (w *world) sweeping() (n int) {
	for _, f := range w.broker.flights {
		if f.delivery.stage == sweeper.Name {
			n++
		}
	}
	return n
}

// again is the history of a seed in two processes, whose Broker delivers again and whose
// sweepers both sweep.
func again(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0xa6a10000) //nolint:gosec // a seed
	c := climate{echo: d.chance(40), lanes: d.chance(30), keeps: true, flights: 1 + d.IntN(3), late: d.chance(15), pair: true}
	h := d.history()
	for range 2 + d.IntN(5) {
		o := op{verb: redeliver}
		if d.chance(60) {
			o = op{verb: twoSweeps, n: 10 + d.IntN(100), seed: d.Uint64() | 1}
		}
		h = slices.Insert(h, d.IntN(len(h)+1), o, op{verb: deliver, n: 1 + d.IntN(120), seed: d.Uint64() | 1})
	}
	return c, h
}

// TestY6Y8HistoriesWithTwoSweepers runs histories in which the Broker delivers everything
// of the last minute again, however old what it tells of is by then, and two sweepers
// sweep at once. They are a sixth as many as those of TestSimulation.
func TestY6Y8HistoriesWithTwoSweepers(t *testing.T) {
	first, last := share(6)
	did := each(t, first, last, again)
	if t.Log(did); t.Failed() || last-first < 20 {
		return
	}
	for _, v := range []verb{redeliver, twoSweeps} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories it came to %q", last-first+1, v)
		}
	}
}
