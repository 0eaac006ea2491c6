// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/protocol"
	"knative.dev/pkg/logging"

	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/source/pacing"
)

// paced sends one event about an object at once, and then at most one in each interval,
// the last: whoever gets it reads the live state. What waits when the process ends is
// found by the sweeper, as all that a source does not tell.
type paced struct {
	cloudevents.Client
	pacer *pacing.Pacer[sending]
}

// sending is an event that is to be sent.
type sending struct {
	ctx   context.Context
	event event.Event
}

func newPaced(c cloudevents.Client, interval time.Duration) *paced {
	return &paced{c, pacing.New(interval, func(t sending) {
		if result := c.Send(t.ctx, t.event); !cloudevents.IsACK(result) {
			logging.FromContext(t.ctx).Errorw("an event was not sent", "subject", t.event.Subject(), "error", result)
		}
	})}
}

// Send sends the event, now or when the interval is over.
func (p *paced) Send(ctx context.Context, e event.Event) protocol.Result {
	if !p.pacer.Now(coalesce.Names(e), sending{ctx, e}) {
		return nil
	}
	return p.Client.Send(ctx, e)
}
