// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// sharing lets those share one request who ask for the same object at the same time, as
// the proofs of many removals do for their cluster. An answer is given only to those who
// had asked before it was asked for: it is as new as one of their own. So of one object
// one request at a time is under way, and the next is for all who came meanwhile.
type sharing[T any] struct {
	mu   sync.Mutex
	open map[types.NamespacedName]*shared[T] // those that have users
}

type shared[T any] struct {
	users int           // callers that ask or wait
	begun int           // how many requests were begun
	turn  chan struct{} // held by the caller that asks
	// answered is which request the answer is of; 0: there is no answer. Only the holder of
	// the turn may look at it.
	answered int
	value    T
	err      error
}

// get returns what ask does, or has done for another caller meanwhile; its callers must
// not change the value. It waits until ctx ends.
func (s *sharing[T]) get(ctx context.Context, name types.NamespacedName, ask func() (T, error)) (T, error) {
	o, begun := s.enter(name)
	defer s.leave(name, o)
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	if o.answered > begun {
		return o.value, o.err
	}
	began := s.begin(o)
	o.value, o.err = ask()
	if ctx.Err() == nil { // otherwise it is no answer for others
		o.answered = began
	}
	return o.value, o.err
}

// enter returns the object's state, and how many requests for it were begun.
func (s *sharing[T]) enter(name types.NamespacedName) (*shared[T], int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.open[name]
	if o == nil {
		o = &shared[T]{turn: make(chan struct{}, 1)}
		if s.open == nil {
			s.open = map[types.NamespacedName]*shared[T]{}
		}
		s.open[name] = o
	}
	o.users++
	return o, o.begun
}

func (s *sharing[T]) begin(o *shared[T]) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.begun++
	return o.begun
}

func (s *sharing[T]) leave(name types.NamespacedName, o *shared[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.users--; o.users == 0 {
		delete(s.open, name)
	}
}
