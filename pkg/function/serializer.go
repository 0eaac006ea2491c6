// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/coalesce"
)

// Laner is a stage that assigns events to lanes itself; for other stages coalesce.Lane
// does. The events of one lane are handled one after the other.
type Laner interface {
	Lane(e event.Event) string
}

// LaneOf is the lane of an event at a stage.
func LaneOf(s Stage, e event.Event) string {
	if l, ok := s.(Laner); ok {
		return l.Lane(e)
	}
	return coalesce.Lane(e)
}

// serializer handles the events of one lane one after the other, so that they do not
// conflict with each other in this process. Of those that wait and tell the same, one is
// handled for all: it reads the state that all of them told of.
type serializer struct {
	mu    sync.Mutex
	lanes map[string]*lane // those that have users
}

// lane is guarded by the lock of its serializer.
type lane struct {
	token   chan struct{}        // held by the event that is being handled
	users   int                  // that event, and those that wait
	waiting map[string]*handling // by what they tell
}

// handling is one call of the stage, for one or more events.
type handling struct {
	ids  []string // of the events; guarded by the lock of the serializer until it begins
	over chan struct{}
	res  Result // once it is over; the zero Result if it never began
}

// do handles the event once those before it in the lane are done, with a context that
// says which events it is handled for (coalesce.Covers). An event that waits together
// with another one that tells the same shares its outcome: both are done, or both are
// tried again. If the other one can never succeed, this one is handled by itself, for
// only the other may be malformed. Two events tell the same only if their data name the
// same objects: anybody may send an event, so equal extensions are not enough.
func (s *serializer) do(ctx context.Context, name string, e event.Event, handle func(ctx context.Context) Result) Result {
	l := s.enter(name)
	defer s.leave(name, l)
	tells := e.Source() + "\x00" + coalesce.Tells(e) + "\x00" + coalesce.Names(e)
	for {
		mine, other := s.wait(l, tells, e.ID())
		if mine != nil {
			return s.handle(ctx, l, tells, mine, handle)
		}
		select {
		case <-other.over:
			switch other.res.Outcome {
			case Done:
				return Result{Outcome: Done, Reason: ReasonCovered}
			case Conflict, Retry:
				return other.res
			}
		case <-ctx.Done():
			return resultOf(nil, ctx.Err())
		}
	}
}

func (s *serializer) enter(name string) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[name]
	if l == nil {
		l = &lane{token: make(chan struct{}, 1), waiting: map[string]*handling{}}
		s.lanes[name] = l
	}
	l.users++
	return l
}

func (s *serializer) leave(name string, l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.lanes, name)
	}
}

// wait joins the waiting handling of an event that tells the same (other), or creates a
// new one for this event (mine).
func (s *serializer) wait(l *lane, tells, id string) (mine, other *handling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other = l.waiting[tells]; other != nil {
		other.ids = append(other.ids, id)
		return nil, other
	}
	mine = &handling{ids: []string{id}, over: make(chan struct{})}
	l.waiting[tells] = mine
	return mine, nil
}

func (s *serializer) handle(ctx context.Context, l *lane, tells string, mine *handling, handle func(ctx context.Context) Result) Result {
	defer close(mine.over)
	select {
	case l.token <- struct{}{}:
		defer func() { <-l.token }()
		s.begin(l, tells)
		mine.res = handle(coalesce.Covering(ctx, mine.ids))
		return mine.res
	case <-ctx.Done():
		s.begin(l, tells)
		return resultOf(nil, ctx.Err())
	}
}

// begin stops other events from joining: one that comes later may tell of something
// newer.
func (s *serializer) begin(l *lane, tells string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(l.waiting, tells)
}
