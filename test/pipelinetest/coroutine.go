// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Coroutine is work that runs from one request to the next with each call of Go. Of
// all coroutines of a test one runs at a time, so that the test chooses their order.
type Coroutine struct {
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	cancel  context.CancelFunc
	running atomic.Bool
	dead    atomic.Bool
}

type coroutineKey struct{}

var errKilled = errors.New("killed")

// NewCoroutine prepares work. It begins with the first Go.
func NewCoroutine(ctx context.Context, work func(context.Context)) *Coroutine {
	c := &Coroutine{}
	ctx, c.cancel = context.WithCancel(context.WithValue(ctx, coroutineKey{}, c))
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if v := recover(); v != nil && v != errKilled { //nolint:errorlint // the very value, of a panic
				panic(v)
			}
		}()
		work(ctx)
	})
	return c
}

// Go lets the work go on to its next request, or to its end: false.
func (c *Coroutine) Go() bool {
	c.running.Store(true)
	_, more := c.next()
	c.running.Store(false)
	if !more {
		c.cancel()
	}
	return more
}

// Kill ends the work where it is, as the end of its process would.
func (c *Coroutine) Kill() {
	c.dead.Store(true)
	c.running.Store(true)
	c.cancel()
	c.stop()
	c.running.Store(false)
}

// Pause ends the call of Go; the next one goes on behind it. The fakes call it in front
// of each request. It does nothing outside a coroutine, nor in what a coroutine's work
// left running behind it.
func Pause(ctx context.Context) {
	c, ok := ctx.Value(coroutineKey{}).(*Coroutine)
	if !ok || !c.running.Load() {
		return
	}
	if c.dead.Load() || !c.yield(struct{}{}) {
		c.dead.Store(true)
		panic(errKilled)
	}
}
