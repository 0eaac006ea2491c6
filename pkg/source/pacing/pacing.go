// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package pacing says when something may be told of an object: at once after quiet, and
// then once in each interval.
//
// Invariants:
//   - What is told last is never left out: it waits until the interval is over.
//   - What nothing waits for, and was not told of within the interval, takes no memory.
//
// What waits when the process ends is not told.
package pacing

import (
	"sync"
	"time"
)

// Pacer paces what is told of objects.
type Pacer[T any] struct {
	interval time.Duration
	later    func(T)

	mu sync.Mutex
	// waits is what waits for each object of which was told within the interval; nil:
	// nothing does.
	waits map[string]*T
}

// New makes a Pacer, which passes to later what had to wait.
func New[T any](interval time.Duration, later func(T)) *Pacer[T] {
	return &Pacer[T]{interval: interval, later: later, waits: map[string]*T{}}
}

// Now reports whether what is to be told of the object may be told now. Otherwise it
// waits until the interval is over, in the place of what waits already.
func (p *Pacer[T]) Now(object string, what T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.free(object, what) {
		return false
	}
	p.begin(object)
	return true
}

// Aside is Now for what begins no interval: after quiet, all of it is told at once.
func (p *Pacer[T]) Aside(object string, what T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free(object, what)
}

// free reports whether no interval is running for the object; otherwise it has that wait
// for its end. The lock is held.
func (p *Pacer[T]) free(object string, what T) bool {
	if _, running := p.waits[object]; !running {
		return true
	}
	p.waits[object] = &what
	return false
}

// begin starts an interval. The lock is held.
func (p *Pacer[T]) begin(object string) {
	p.waits[object] = nil
	time.AfterFunc(p.interval, func() { p.end(object) })
}

// end passes on what waits for the object, and starts the next interval if something
// did.
func (p *Pacer[T]) end(object string) {
	p.mu.Lock()
	what := p.waits[object]
	if what == nil {
		delete(p.waits, object)
	} else {
		p.begin(object)
	}
	p.mu.Unlock()
	if what != nil {
		p.later(*what)
	}
}
