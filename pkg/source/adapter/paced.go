// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/protocol"
	"knative.dev/pkg/logging"

	"sluice.dev/pkg/coalesce"
)

// paced sends one event about an object at once, and then at most one in each interval,
// the last: whoever gets it reads the live state. What waits when the process ends is
// found by the sweeper, as all that a source does not tell.
type paced struct {
	cloudevents.Client
	interval time.Duration

	mu sync.Mutex
	// last is the event that waits for an object of which was told within the interval;
	// nil: none does.
	last map[string]*event.Event
}

func newPaced(c cloudevents.Client, interval time.Duration) *paced {
	return &paced{Client: c, interval: interval, last: map[string]*event.Event{}}
}

// Send sends the event, now or when the interval is over.
func (p *paced) Send(ctx context.Context, e event.Event) protocol.Result {
	object := coalesce.Names(e)
	p.mu.Lock()
	if _, told := p.last[object]; told {
		p.last[object] = &e
		p.mu.Unlock()
		return nil
	}
	p.last[object] = nil
	p.mu.Unlock()
	return p.send(ctx, object, e)
}

func (p *paced) send(ctx context.Context, object string, e event.Event) protocol.Result {
	time.AfterFunc(p.interval, func() { p.next(ctx, object) })
	return p.Client.Send(ctx, e)
}

// next sends what waits for the object.
func (p *paced) next(ctx context.Context, object string) {
	p.mu.Lock()
	e := p.last[object]
	if e == nil {
		delete(p.last, object)
	} else {
		p.last[object] = nil
	}
	p.mu.Unlock()
	if e == nil {
		return
	}
	if result := p.send(ctx, object, *e); !cloudevents.IsACK(result) {
		logging.FromContext(ctx).Errorw("an event was not sent", "subject", e.Subject(), "error", result)
	}
}
