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
	// atOnce is how many requests a member handles at the same time, for all callers
	// together. It is less than what one function handles at the same time.
	atOnce = 32
	// queueFor is how long a request waits for another one to end.
	queueFor = time.Second
	// slowAnswer is how long an answer of a member takes for which requests do not
	// queue.
	slowAnswer = 2 * time.Second
	// trips is how many requests in a row may fail before the member is left alone for
	// a pause. The pause doubles with each further failure.
	trips            = 3
	firstRest        = time.Second
	longestRest      = 5 * time.Second
	watchHeadersWait = 30 * time.Second
)

var (
	// errRedirect says that a member redirects requests to another place, which must
	// not get its credentials.
	errRedirect = errors.New("the member answers with a redirect, which is not followed")
	// errBusy says that the member has as many requests as it may have, and answers
	// slowly.
	errBusy = errors.New("the member is slow, and busy with other requests")
)

// resting says that several requests in a row failed, and that the member is left alone
// for a while. Its message is that of the last failure, since the pause says nothing
// new about the member.
type resting struct{ why error }

func (e *resting) Error() string { return e.why.Error() }
func (e *resting) Unwrap() error { return e.why }

// guard limits what a member that is slow, dead or hostile can cost, in time and
// memory, so that other members are not affected:
//   - redirects are not followed, and Retry-After is ignored;
//   - answers have a maximum size (limit.go);
//   - a member has a limited number of requests at a time, and requests do not queue
//     for a slow one;
//   - after several failures in a row, one request at a time is tried, after a pause;
//     others fail at once.
type guard struct {
	next  http.RoundTripper
	now   func() time.Time
	slots chan struct{}

	mu     sync.Mutex
	slow   bool // its last answer was slow
	failed int  // failed requests in a row
	until  time.Time
	why    error // of the last failure
}

func newGuard(next http.RoundTripper) *guard {
	return &guard{next: next, now: time.Now, slots: make(chan struct{}, atOnce)}
}

// WrappedRoundTripper returns the wrapped transport, for callers that look for it.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip makes a request, unless the member has too many or is left alone.
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
	// client-go would wait and try again by itself, while the caller waits.
	resp.Header.Del("Retry-After")
	resp.Body = &answer{body: resp.Body, left: limitOf(req), done: func(err error) {
		once()
		g.end(req.Context(), began, err)
	}}
	return resp, nil
}

// watch opens a watch. It takes no slot, since it lasts. Its headers have to arrive
// soon.
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

// redirected returns an error if the answer is a redirect, and closes it then.
func redirected(resp *http.Response) error {
	if resp.StatusCode/100 != 3 || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_ = resp.Body.Close()
	return errRedirect
}

// admit returns nil if the member is not left alone at the moment.
func (g *guard) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed < trips {
		return nil
	}
	if now := g.now(); now.Before(g.until) {
		return &resting{g.why}
	} else { //nolint:revive // now is of both
		g.until = now.Add(requestTimeout) // one request tries meanwhile
	}
	return nil
}

// enter takes a slot. If none is free it waits for one, unless the member is slow.
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

// unsure lets another request try, because the one that was to try did not get a slot.
func (g *guard) unsure() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Time{}
}

// end records the outcome of a request.
func (g *guard) end(ctx context.Context, began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		g.until = time.Time{} // the caller gave up, which says nothing about the member
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
