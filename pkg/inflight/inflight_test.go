// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"sluice.dev/pkg/inflight"
)

// server answers one request after the other, when it is told to, and notes which.
type server struct {
	mu     sync.Mutex
	asked  []string
	answer chan struct{}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK}, nil
}

func (s *server) seen() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

type client struct {
	*testing.T
	server    *server
	transport http.RoundTripper
	all       sync.WaitGroup
}

func newClient(t *testing.T, limit int) *client {
	s := &server{answer: make(chan struct{})}
	return &client{T: t, server: s, transport: inflight.New(limit).Wrap(s)}
}

// ask makes a request, which need not be answered yet.
func (c *client) ask(ctx context.Context, url string) <-chan error {
	done := make(chan error, 1)
	c.all.Go(func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://hub/"+url, nil)
		if err == nil {
			var answer *http.Response
			if answer, err = c.transport.RoundTrip(r); answer != nil && answer.Body != nil {
				_ = answer.Body.Close()
			}
		}
		done <- err
	})
	synctest.Wait()
	return done
}

func (c *client) wants(asked ...string) {
	c.Helper()
	if got := c.server.seen(); !slices.Equal(got, asked) {
		c.Errorf("the server was asked for %v, want %v", got, asked)
	}
}

func (c *client) end() { close(c.server.answer); c.all.Wait() }

func TestRequestsBeyondTheLimitTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, 2)
		load, quick := inflight.WithFlow(t.Context(), "load"), inflight.WithFlow(t.Context(), "quick")
		for _, path := range []string{"1", "2", "3", "4"} {
			c.ask(load, path)
		}
		c.ask(quick, "5")
		c.wants("/1", "/2")
		c.server.answer <- struct{}{}
		c.wants("/1", "/2", "/3")
		c.server.answer <- struct{}{}
		c.wants("/1", "/2", "/3", "/5")
		c.server.answer <- struct{}{}
		c.wants("/1", "/2", "/3", "/5", "/4")
		c.end()
	})
}

func TestWhatHasNoFlowDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, 1)
		load := inflight.WithFlow(t.Context(), "load")
		c.ask(load, "1")
		c.ask(t.Context(), "webhook")
		c.ask(load, "watched?watch=true")
		c.wants("/1", "/webhook", "/watched")
		c.end()
	})
}

func TestWhoGivesUpTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, 1)
		load := inflight.WithFlow(t.Context(), "load")
		impatient, giveUp := context.WithCancel(load)
		c.ask(load, "1")
		gone := c.ask(impatient, "2")
		c.ask(load, "3")
		giveUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		c.server.answer <- struct{}{}
		c.wants("/1", "/3")
		c.end()
		c.ask(load, "4")
		c.wants("/1", "/3", "/4")
	})
}
