// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice.dev/pkg/function"
)

// Run handles events until ctx ends or the broker is closed. It returns once
// nothing runs any more: running events may take Options.Grace to finish, then
// their contexts end. What waits is dropped, and a broker runs once only.
func (b *Broker) Run(ctx context.Context) error {
	handlers, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := b.begin(handlers); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-b.end:
	}
	b.mu.Lock()
	b.stopped = true
	b.changed()
	b.mu.Unlock()
	grace := time.AfterFunc(b.opts.Grace, cancel)
	defer grace.Stop()
	b.running.Wait()
	return nil
}

func (b *Broker) begin(handlers context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil {
		return errors.New("broker has run already")
	}
	b.ctx = handlers
	for _, q := range b.queues {
		if stage := q.spec.Load().subscriber; b.stages[stage] == nil {
			function.Logger(handlers).Info("trigger has no stage", "trigger", q.name, "stage", stage)
		}
		b.dispatch(q)
	}
	return nil
}

// Close turns sources away, waits until all that is queued has been handled, or
// until ctx ends, and ends Run. Retries are not waited for.
func (b *Broker) Close(ctx context.Context) error {
	b.mu.Lock()
	first := !b.closing
	b.closing = true
	err := b.waitFor(ctx, func() bool { return b.busy == 0 || b.stopped })
	b.mu.Unlock()
	if first {
		close(b.end)
	}
	return err
}

// dispatch starts what may run of q.
func (b *Broker) dispatch(q *queue) {
	if b.ctx == nil || b.stopped {
		return
	}
	spec := q.spec.Load()
	stage := b.stages[spec.subscriber]
	for stage != nil && q.running < spec.parallelism {
		room, share := b.room()
		e := q.start(b.bulk < room, share)
		if e == nil {
			return
		}
		if e.pace == bulk {
			b.bulk++
		}
		b.running.Add(1)
		go b.handle(q, stage, e)
	}
}

// dispatchAll starts what may run of all queues: any of them may have what gives way.
func (b *Broker) dispatchAll() {
	for _, q := range b.queues {
		b.dispatch(q)
	}
}

// pressFor is how long what is in bulk makes room for one event, at most: it may be about
// a member that does not answer.
const pressFor = time.Second

// crowd is for how many events what is in bulk makes room, at most: more are many templates
// themselves, and nobody waits for one of them in particular. One template has a few of
// them at once.
const crowd = 8

// press has what is in bulk make room for an entry for which somebody waits, from its
// arrival until it ran.
func (b *Broker) press(e *entry) {
	if e.pace != single || e.pressing != nil {
		return
	}
	if b.pressing++; b.pressing == crowd+1 {
		b.dispatchAll()
	}
	e.pressing = time.AfterFunc(pressFor, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.relax(e)
	})
}

// relax ends what press began.
func (b *Broker) relax(e *entry) {
	if e.pressing == nil {
		return
	}
	e.pressing.Stop()
	e.pressing = nil
	if b.pressing--; b.pressing == 0 {
		b.dispatchAll()
	}
}

// room is how many bulk events may run now, and which share of the starts of a queue is
// theirs while others are ready. There is always some: who makes one template after the
// other holds up no fan-out for good, and who makes many at once hardly.
func (b *Broker) room() (most, share int) {
	switch {
	case b.pressing > crowd:
		return b.opts.Bulk, crowdShare
	case b.pressing > 0:
		return max(1, b.opts.Bulk/bulkShare), bulkShare
	}
	return b.opts.Bulk, bulkShare
}

// reply is an event that a stage emitted, and the queues that take it.
type reply struct {
	hint
	takers []*queue
}

// handle takes e through the stage and passes on what the stage emitted.
func (b *Broker) handle(q *queue, stage function.Stage, e *entry) {
	defer b.running.Done()
	res := b.opts.Runner.Run(b.ctx, stage, e.event)
	replies := make([]reply, len(res.Events))
	for i, out := range res.Events {
		replies[i] = reply{hintOf(out), b.match(out)}
	}
	if dead := b.conclude(q, e, res, replies); dead != nil {
		function.Logger(b.ctx).LogAttrs(b.ctx, slog.LevelWarn, "event dead-lettered",
			slog.String("trigger", dead.Trigger), slog.String("stage", dead.Stage), slog.String("event", dead.Event.ID()),
			slog.String("object", function.Object(dead.Event)), slog.String("reason", dead.Reason),
			slog.Int("attempts", dead.Attempts), slog.Any("error", dead.Err))
	}
}

// conclude queues the replies and frees the lane of e.
func (b *Broker) conclude(q *queue, e *entry, res function.Result, replies []reply) *DeadLetter {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range replies {
		for _, taker := range r.takers {
			b.put(taker, r.hint)
		}
	}
	// Not before the replies are queued, so that the broker is never idle
	// between an event and what follows from it.
	b.busy--
	q.finish(e)
	dead := b.settle(q, e, res)
	if e.pace == bulk {
		b.bulk--
		b.dispatchAll()
	} else {
		b.dispatch(q)
	}
	b.relax(e)
	b.changed()
	return dead
}

// settle decides what becomes of an entry that ran.
func (b *Broker) settle(q *queue, e *entry, res function.Result) (dead *DeadLetter) {
	spec := q.spec.Load()
	switch {
	case res.Outcome == function.Done:
		q.count.Handled++
		b.dead.forget(q.name, e.key)
	case q.removed, q.waiting[e.key] != nil: // a newer one tells the same
		q.count.Coalesced++
	case res.Outcome == function.Terminal, e.attempts >= spec.retries:
		q.count.Dead++
		dead = &DeadLetter{
			Trigger: q.name, Stage: spec.subscriber, Event: withoutExcess(e.event),
			Outcome: res.Outcome, Reason: res.Reason, Err: res.Err, Attempts: e.attempts + 1, Time: time.Now(),
		}
		b.dead.add(*dead, e.key)
	default:
		e.attempts++
		q.count.Retried++
		b.retryLater(q, e, spec.delay(e.attempts, res.Delay))
	}
	return dead
}

// retryLater queues e again after d. Its lane goes on meanwhile.
func (b *Broker) retryLater(q *queue, e *entry, d time.Duration) {
	q.waiting[e.key] = e
	b.retrying++
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if q.removed || e.timer != timer { // superseded just before
			return
		}
		e.timer = nil
		b.retrying--
		b.busy++
		q.enqueue(e)
		b.dispatch(q)
	})
	e.timer = timer
}
