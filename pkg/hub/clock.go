// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock tells the hub's time, by which objects say when they were made, changed and
// deleted. It is this process's own, moved as little as the hub's answers allow, each of
// which says when it was given, in whole seconds.
type clock struct {
	now func() time.Time
	// ahead is how far the hub's is, in nanoseconds.
	ahead atomic.Int64
}

// Now is the hub's time, to about a second. Before the first answer it is this process's.
func (h *Hub) Now() time.Time { return h.clock.time() }

func (c *clock) time() time.Time { return c.now().Add(time.Duration(c.ahead.Load())) }

// hear learns from the date of an answer that was given between began and ended.
func (c *clock) hear(date string, began, ended time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	ahead := c.ahead.Load()
	least, most := int64(at.Sub(ended)), int64(at.Add(time.Second).Sub(began))
	if next := min(max(ahead, least), most); next != ahead {
		c.ahead.CompareAndSwap(ahead, next) // otherwise another answer was heard meanwhile
	}
}

// listen has the clock hear all answers.
func (c *clock) listen(next http.RoundTripper) http.RoundTripper { return &listener{next, c} }

type listener struct {
	next  http.RoundTripper
	clock *clock
}

// WrappedRoundTripper returns the wrapped transport, for callers that look for it.
func (l *listener) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip makes a request.
func (l *listener) RoundTrip(req *http.Request) (*http.Response, error) {
	began := l.clock.now()
	resp, err := l.next.RoundTrip(req)
	if err == nil {
		l.clock.hear(resp.Header.Get("Date"), began, l.clock.now())
	}
	return resp, err
}
