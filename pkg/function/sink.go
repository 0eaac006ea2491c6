// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function/token"
	"sluice.dev/pkg/outcome"
)

// errNoSink is the answer of a function that has more to say than fits in a
// reply, and was not told where the broker is.
var errNoSink = errors.New("several events emitted, and K_SINK names no broker")

// errRefused is the broker's no to an event that it will never take.
var errRefused = errors.New("broker refused it")

// sinkParallelism bounds how many events of one result are posted at a time.
const sinkParallelism = 8

// sink is the ingress of a broker.
type sink struct {
	url    string
	token  string // the file that Knative keeps a token for the broker in, if it wants one
	client *http.Client
}

func newSink(url string) *sink {
	if url == "" {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &sink{url: url, token: token.File, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// Publisher posts events to the broker named by K_SINK, for what a stage has to
// tell before it commits, or for another. It returns nil once the broker has accepted
// them all, and a terminal error where it will never take one of them.
func Publisher() func(ctx context.Context, out []event.Event) error {
	s := newSink(os.Getenv("K_SINK"))
	return func(ctx context.Context, out []event.Event) error {
		err := s.post(ctx, out)
		if errors.Is(err, errRefused) {
			return outcome.Terminal(err)
		}
		return err
	}
}

// post returns nil once the broker has accepted every event.
func (s *sink) post(ctx context.Context, out []event.Event) error {
	if s == nil {
		return errNoSink
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sinkParallelism)
	for _, e := range out {
		g.Go(func() error { return s.postOne(ctx, e) })
	}
	return g.Wait()
}

func (s *sink) postOne(ctx context.Context, e event.Event) error {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, s.url, e)
	if err != nil {
		return fmt.Errorf("post %s: %w", e.Type(), err)
	}
	token.Show(req.Header, s.token)
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("post %s: %w", e.Type(), err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // so that the connection is used again
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("post %s: %w: %s", e.Type(), errRefused, resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("post %s: broker answered %s", e.Type(), resp.Status)
	}
	return nil
}

// posting is a stage that posts what it emits to the broker, before it answers. Where
// that fails the event is handled again, and what is then posted twice has the same
// ids. A function without a broker replies with the one event that fits in a reply.
type posting struct {
	Stage
	sink *sink
	// lost is when index.lost was sent last, in Unix seconds.
	lost atomic.Int64
}

// tellLost sends index.lost, so that Redis is rebuilt at once and not with the next
// tick. It sends no more than one in two seconds, and only logs an error: the next tick
// finds out anyway.
func (p *posting) tellLost(ctx context.Context, cause event.Event) {
	const pause = 2
	now, last := time.Now().Unix(), p.lost.Load()
	if p.sink == nil || cause.Type() == events.IndexLost || now-last < pause || !p.lost.CompareAndSwap(last, now) {
		return
	}
	lost := events.From(p.Name(), cause)
	lost.Emit(events.IndexLost, events.Data{Reason: ReasonNotBuilt})
	out, err := lost.Events()
	if err == nil {
		err = p.sink.post(ctx, out)
	}
	if err != nil {
		Logger(ctx).Debug("index.lost not told", keyError, err)
	}
}

// Handle handles the event, and posts what the stage emits.
func (p *posting) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	out, err := p.Stage.Handle(ctx, e)
	if errors.Is(err, outcome.ErrNotBuilt) {
		p.tellLost(ctx, e)
	}
	if err != nil && !outcome.IsPartly(err) || p.sink == nil && len(out) < 2 {
		return out, err
	}
	if err := p.sink.post(ctx, out); err != nil {
		return nil, err
	}
	return out, err
}

// reply returns those of the emitted events that belong in the HTTP reply.
func (p *posting) reply(out []event.Event) []event.Event {
	if p.sink != nil {
		return nil // they are posted
	}
	return out
}
