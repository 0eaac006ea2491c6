// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/coalesce"
)

// hint is an event with the keys that queues need.
type hint struct {
	event event.Event
	key   string // of what it tells
	lane  string // of what it must stay in order with, at the stage that gets it
	bulk  bool   // it gives way to those that are not
}

func hintOf(e event.Event) hint {
	return hint{event: e, key: coalesce.Tells(e), bulk: events.Bulk(e)}
}

// promoted returns the hint as one that is not bulk, because it takes the place of one
// that is not. What follows from it is not bulk either.
func (h hint) promoted() hint {
	h.event, h.bulk = h.event.Clone(), false
	h.event.SetExtension(events.ExtBulk, nil)
	return h
}
