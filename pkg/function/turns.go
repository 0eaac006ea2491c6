// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/coalesce"
)

// Laner is a stage that says itself which events it handles one after the other;
// for any other they are those of one coalesce.Lane.
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

// turns has the events of one lane handled one after the other, so that they lose
// no races against each other in this process. Of those that tell the same, while
// none of them has begun, one is handled: it reads what all of them told of.
type turns struct {
	mu    sync.Mutex
	lanes map[string]*lane // those that have users
}

// lane is guarded by the lock of its turns.
type lane struct {
	token   chan struct{}    // held by who has its turn
	users   int              // who has a turn, or waits for one
	waiting map[string]*turn // by what they tell
}

// turn is one handling of one or more events.
type turn struct {
	ids  []string // of the events; guarded by the lock of turns until it begins
	over chan struct{}
	res  Result // once it is over; of a turn that was not taken, none
}

// take handles the event when it is its turn, with a context that says which events
// it is for (coalesce.Covers). Who waited with another that tells the same has nothing
// to do where that one's turn ended well, and to try again where that one has to. One
// that can never succeed may be malformed, which others need not be: they have a turn
// of their own. Extensions that are the same do not make events tell the same whose
// data name other objects: anybody may send one of those.
func (t *turns) take(ctx context.Context, name string, e event.Event, handle func(ctx context.Context) Result) Result {
	l := t.enter(name)
	defer t.leave(name, l)
	tells := e.Source() + "\x00" + coalesce.Tells(e) + "\x00" + coalesce.Names(e)
	for {
		mine, other := t.wait(l, tells, e.ID())
		if mine != nil {
			return t.handle(ctx, l, tells, mine, handle)
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

func (t *turns) enter(name string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[name]
	if l == nil {
		l = &lane{token: make(chan struct{}, 1), waiting: map[string]*turn{}}
		t.lanes[name] = l
	}
	l.users++
	return l
}

func (t *turns) leave(name string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.lanes, name)
	}
}

// wait is a turn of one's own, or that of somebody else who waits to tell the same.
func (t *turns) wait(l *lane, tells, id string) (mine, other *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other = l.waiting[tells]; other != nil {
		other.ids = append(other.ids, id)
		return nil, other
	}
	mine = &turn{ids: []string{id}, over: make(chan struct{})}
	l.waiting[tells] = mine
	return mine, nil
}

func (t *turns) handle(ctx context.Context, l *lane, tells string, mine *turn, handle func(ctx context.Context) Result) Result {
	defer close(mine.over)
	select {
	case l.token <- struct{}{}:
		defer func() { <-l.token }()
		t.begin(l, tells)
		mine.res = handle(coalesce.Covering(ctx, mine.ids))
		return mine.res
	case <-ctx.Done():
		t.begin(l, tells)
		return resultOf(nil, ctx.Err())
	}
}

// begin ends the waiting: who comes now may tell of something newer.
func (t *turns) begin(l *lane, tells string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(l.waiting, tells)
}
