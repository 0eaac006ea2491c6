// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

const (
	// patience is how long the members of an event are waited for once half of them
	// have answered. A member that is merely busy answers in a fraction of that.
	patience = 3 * time.Second
	// utmost is how long they are waited for in any case.
	utmost = 4 * patience
	// attempts is how often a Work out of several is tried if somebody else writes it
	// meanwhile.
	attempts = 4
)

// errAlone says that the Work has to be handled in an event of its own.
var errAlone = errors.New("the member takes longer than others shall wait")

// ended is the outcome for one Work out of several.
type ended struct {
	result result
	work   *propagation.Work
	err    error
}

// batch applies Works to their members in parallel. A member that does not answer in
// time, or fails, is handled in an event of its own, so that the others do not wait and
// nothing is done twice. If all of them failed, the event itself fails.
func (s *Stage) batch(ctx context.Context, e event.Event, all []events.Data) ([]event.Event, error) {
	ends := make([]ended, len(all))
	wait := s.begin(len(all))
	defer wait.stop()
	s.together(len(all), func(i int) {
		ends[i] = s.within(ctx, wait, all[i])
		wait.ended()
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	var failed []error
	for i, end := range ends {
		s.inherit(ctx, out, end.result.heirs)
		if end.err == nil && end.result.later {
			out.Emit(e.Type(), continued(all[i], end.result.next))
			continue
		}
		if end.err == nil {
			out.EmitWork(end.result.event, about(all[i], end.work, end.result.reason, end.result.message))
			renew(out, all[i], end.result)
			continue
		}
		if !errors.Is(end.err, errAlone) && !outcome.IsTerminal(end.err) {
			failed = append(failed, end.err)
		}
		alone := all[i]
		alone.Reason = events.ReasonAlone
		out.Emit(e.Type(), alone)
	}
	if len(failed) == len(all) {
		return nil, errors.Join(failed...)
	}
	return out.Events()
}

// within applies one Work to its member, if that takes no longer than the others wait.
// That a request was cut off says nothing about the member: the member's own event
// finds out.
func (s *Stage) within(ctx context.Context, wait *waitingRoom, msg events.Data) ended {
	if s.slow.has(msg.Cluster) {
		return ended{err: errAlone}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(wait.over, func() { cancel(errAlone) })()
	var end ended
	for range attempts {
		end.result, end.work, end.err = s.locked(ctx, msg)
		if !outcome.IsConflict(end.err) {
			break
		}
	}
	if errors.Is(context.Cause(ctx), errAlone) && (end.err != nil || end.result.reason == reasonUnreachable) {
		s.slow.note(msg.Cluster, true)
		return ended{err: errAlone}
	}
	return end
}

// waitingRoom limits how long the members of an event wait for each other. If all of
// them are slow, the cause is not a member, and all are waited for up to utmost.
type waitingRoom struct {
	// over ends when the others wait no longer. It is not derived from the event's
	// context, whose end is no member's fault.
	over     context.Context
	close    context.CancelFunc
	patience time.Duration
	utmost   *time.Timer

	mu    sync.Mutex
	half  int // how many more have to end until half of them have
	later *time.Timer
}

func (s *Stage) begin(n int) *waitingRoom {
	w := &waitingRoom{patience: s.patience, half: (n + 1) / 2}
	w.over, w.close = context.WithCancel(context.Background())
	w.utmost = time.AfterFunc(s.utmost, w.close)
	return w
}

// ended records that a member has answered.
func (w *waitingRoom) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.half--; w.half == 0 {
		w.later = time.AfterFunc(w.patience, w.close)
	}
}

func (w *waitingRoom) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.utmost.Stop()
	if w.later != nil {
		w.later.Stop()
	}
	w.close()
}

// alone applies one Work to its member, and records whether others could have waited
// for that.
func (s *Stage) alone(ctx context.Context, e event.Event, msg events.Data) ([]event.Event, error) {
	began := time.Now()
	r, w, err := s.locked(ctx, msg)
	if time.Since(began) < s.patience && (err == nil && r.reason != reasonUnreachable || outcome.IsConflict(err)) {
		s.slow.note(msg.Cluster, false)
	}
	if err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	s.inherit(ctx, out, r.heirs)
	if r.later {
		out.Emit(e.Type(), continued(msg, r.next))
		return out.Events()
	}
	out.EmitWork(r.event, about(msg, w, r.reason, r.message))
	renew(out, msg, r)
	return out.Events()
}

// locked applies one Work to its member while holding the Work's lock.
func (s *Stage) locked(ctx context.Context, msg events.Data) (result, *propagation.Work, error) {
	if s.locks != nil {
		unlock, err := s.locks.lock(ctx, *msg.Work)
		if err != nil {
			return result{}, nil, err
		}
		defer unlock()
	}
	return s.one(ctx, msg)
}

// sideBySide calls do n times in parallel. If a call panics, sideBySide does so after
// all have ended.
func sideBySide(n int, do func(i int)) {
	var all sync.WaitGroup
	panics := make([]any, n)
	for i := range n {
		all.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i)
		})
	}
	all.Wait()
	for _, v := range panics {
		if v != nil {
			panic(v)
		}
	}
}

// Sequential makes the stage handle the Works of an event one after the other, however
// long each takes. It is for tests that choose the order of requests.
func (s *Stage) Sequential() *Stage {
	s.locks, s.patience, s.utmost = nil, math.MaxInt64, math.MaxInt64
	s.together = func(n int, do func(i int)) {
		for i := range n {
			do(i)
		}
	}
	return s
}

// slow are the members that others do not wait for. It is only a hint: each replica
// finds out for itself.
type slow struct {
	mu      sync.Mutex
	members map[string]bool
}

func (s *slow) has(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[cluster]
}

func (s *slow) note(cluster string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is {
		s.members[cluster] = true
	} else {
		delete(s.members, cluster)
	}
}
