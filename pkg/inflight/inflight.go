// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package inflight limits how many requests of a process are in flight to one API server.
// When the server is busy, others wait here, where flows take turns, and not there, where
// they would wait for each other in the order in which they came.
//
// Invariants:
//   - A request of a flow waits for at most one of each other flow before it, whatever
//     these have to ask.
//   - Who waits holds nothing that others wait for.
//   - A request without a flow, and a watch, never wait: a webhook must not wait for what
//     waits for its answer.
//
// It must not reorder the requests of one flow, or delay any while few are in flight.
package inflight

import (
	"context"
	"net/http"
	"sync"

	"sluice.dev/pkg/turns"
)

type flowKey struct{}

// WithFlow returns a context whose requests are of that flow.
func WithFlow(ctx context.Context, flow string) context.Context {
	return context.WithValue(ctx, flowKey{}, flow)
}

// Limit is how many requests may be in flight.
type Limit struct {
	mu      sync.Mutex
	free    int
	waiting turns.Turns[chan struct{}]
}

// New makes a limit of n requests.
func New(n int) *Limit { return &Limit{free: n} }

// Wrap makes a transport keep the limit.
func (l *Limit) Wrap(next http.RoundTripper) http.RoundTripper { return limited{l, next} }

type limited struct {
	*Limit
	next http.RoundTripper
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	flow, ok := r.Context().Value(flowKey{}).(string)
	if !ok || r.URL.Query().Has("watch") {
		return l.next.RoundTrip(r)
	}
	if err := l.acquire(r.Context(), flow); err != nil {
		return nil, err
	}
	defer l.release()
	return l.next.RoundTrip(r)
}

// WrappedRoundTripper returns what is wrapped, for client-go.
func (l limited) WrappedRoundTripper() http.RoundTripper { return l.next }

// acquire waits until one more request may be in flight, or ctx ends.
func (l *Limit) acquire(ctx context.Context, flow string) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := l.waiting.Add(flow, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-turn: // it came at the same moment: the next may have it
		l.pass()
	default:
		l.waiting.Remove(place)
	}
	return ctx.Err()
}

func (l *Limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

func (l *Limit) pass() {
	if turn, ok := l.waiting.Next(); ok {
		close(turn)
		return
	}
	l.free++
}
