// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Turn is work that runs from one request to the next, when it is its turn. Of
// all Turns of a test one runs at a time, so that their order is the test's to
// choose.
type Turn struct {
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	cancel  context.CancelFunc
	running atomic.Bool
	dead    atomic.Bool
}

type turnKey struct{}

var errKilled = errors.New("killed")

// NewTurn prepares work. It begins with the first Go.
func NewTurn(ctx context.Context, work func(context.Context)) *Turn {
	t := &Turn{}
	ctx, t.cancel = context.WithCancel(context.WithValue(ctx, turnKey{}, t))
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if v := recover(); v != nil && v != errKilled { //nolint:errorlint // the very value, of a panic
				panic(v)
			}
		}()
		work(ctx)
	})
	return t
}

// Go lets the work go on to its next request, or to its end: false.
func (t *Turn) Go() bool {
	t.running.Store(true)
	_, more := t.next()
	t.running.Store(false)
	if !more {
		t.cancel()
	}
	return more
}

// Kill ends the work where it is, as the end of its process would.
func (t *Turn) Kill() {
	t.dead.Store(true)
	t.running.Store(true)
	t.cancel()
	t.stop()
	t.running.Store(false)
}

// Pause stands in front of each request: others may have their turn. It does
// nothing outside a Turn, or in what a Turn's work left running behind it.
func Pause(ctx context.Context) {
	t, ok := ctx.Value(turnKey{}).(*Turn)
	if !ok || !t.running.Load() {
		return
	}
	if t.dead.Load() || !t.yield(struct{}{}) {
		t.dead.Store(true)
		panic(errKilled)
	}
}
