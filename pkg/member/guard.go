// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"sluice.dev/pkg/outcome"
)

const (
	// atOnce bounds the requests that a member is at, all kinds of callers together.
	// It is a part of what one function handles at once.
	atOnce = 32
	// queueFor is how long a request waits for one of them to end.
	queueFor = time.Second
	// slowAnswer is what a member takes for an answer that nobody queues at.
	slowAnswer = 2 * time.Second
	// trips is how many requests in a row may come to nothing before the member has
	// a pause, which doubles while it lasts.
	trips            = 3
	firstRest        = time.Second
	longestRest      = 5 * time.Second
	watchHeadersWait = 30 * time.Second
)

var (
	// errRedirect says that a member wanted to have its requests elsewhere, where
	// its credentials have no business.
	errRedirect = errors.New("the member answers with a redirect, which is not followed")
	// errBusy says that the member is at as many requests as it may be, and takes
	// its time for them.
	errBusy = errors.New("the member is slow, and busy with other requests")
)

// resting says that the member did not answer several times in a row, and is left
// alone for a while. It is told as the failure that came last: that there is a pause
// is no news about the member.
type resting struct{ why error }

func (e *resting) Error() string { return e.why.Error() }
func (e *resting) Unwrap() error { return e.why }

// guard stands between a client and its member, so that a member that is slow, dead
// or hostile costs bounded time and memory, and nobody else's:
//   - redirects are not followed, and Retry-After is ignored;
//   - an answer has at most as many bytes as an answer may have (limit.go);
//   - it is at few requests at a time, and nobody queues for a slow one;
//   - one that did not answer several times in a row is asked by one request at a
//     time, now and then; the others fail at once.
type guard struct {
	next  http.RoundTripper
	now   func() time.Time
	slots chan struct{}

	mu     sync.Mutex
	slow   bool // it took its time for the last answer
	failed int  // requests in a row that came to nothing
	until  time.Time
	why    error // of the last failure
}

func newGuard(next http.RoundTripper) *guard {
	return &guard{next: next, now: time.Now, slots: make(chan struct{}, atOnce)}
}

// WrappedRoundTripper is for those who look for the transport itself.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip makes a request, if the member may have one more.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if isWatch(req) {
		return g.watch(req)
	}
	if err := g.admit(); err != nil {
		return nil, err
	}
	if err := g.enter(req.Context()); err != nil {
		g.unsure()
		return nil, err
	}
	began := g.now()
	once := sync.OnceFunc(func() { <-g.slots })
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		once()
		g.end(req.Context(), began, err)
		return nil, err
	}
	if err := redirected(resp); err != nil {
		once()
		g.end(req.Context(), began, nil)
		return nil, err
	}
	// client-go would try again by itself, in the time of who waits.
	resp.Header.Del("Retry-After")
	resp.Body = &answer{body: resp.Body, left: limitOf(req), done: func(err error) {
		once()
		g.end(req.Context(), began, err)
	}}
	return resp, nil
}

// watch opens a watch. It lasts, so that it takes no slot; of its headers somebody
// who answers does not think for long.
func (g *guard) watch(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	late := time.AfterFunc(watchHeadersWait, cancel)
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if !late.Stop() && err == nil {
		resp.Body.Close()
		err = context.DeadlineExceeded
	}
	if err == nil {
		if err = redirected(resp); err == nil {
			resp.Body = &stream{body: resp.Body, left: maxStream, frame: frame{left: maxObject}, done: cancel}
			return resp, nil
		}
	}
	cancel()
	return nil, err
}

// redirected is nil unless the answer names another place; then it is closed.
func redirected(resp *http.Response) error {
	if resp.StatusCode/100 != 3 || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_ = resp.Body.Close()
	return errRedirect
}

// admit is nil if the member may be asked now.
func (g *guard) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed < trips {
		return nil
	}
	if now := g.now(); now.Before(g.until) {
		return &resting{g.why}
	} else { //nolint:revive // now is of both
		g.until = now.Add(requestTimeout) // for the one that tries
	}
	return nil
}

// enter takes a slot, and waits for it where that is worth it.
func (g *guard) enter(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	g.mu.Lock()
	slow := g.slow
	g.mu.Unlock()
	if slow {
		return outcome.After(slowAnswer, errBusy)
	}
	timer := time.NewTimer(queueFor)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		g.mu.Lock()
		g.slow = true
		g.mu.Unlock()
		return outcome.After(slowAnswer, errBusy)
	}
}

// unsure lets another try where the one that should have did not get to.
func (g *guard) unsure() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Time{}
}

// end takes note of how a request went.
func (g *guard) end(ctx context.Context, began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		g.until = time.Time{} // the caller gave up: that says nothing of the member
		return
	case err != nil:
		g.failed++
		g.why = err
		if over := g.failed - trips; over >= 0 {
			g.until = now.Add(min(firstRest<<min(over, 8), longestRest))
		}
	default:
		g.failed, g.until = 0, time.Time{}
	}
	g.slow = now.Sub(began) > slowAnswer
}
