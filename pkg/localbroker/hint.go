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
	pace  pace
}

// pace says who goes first, as the events say it.
type pace int

const (
	bulk   pace = iota // it gives way to all others
	usual              // nobody knows what it follows from
	single             // what is in bulk makes room for it, too
)

func paceOf(e event.Event) pace {
	switch {
	case events.Bulk(e):
		return bulk
	case events.Single(e):
		return single
	}
	return usual
}

func hintOf(e event.Event) hint {
	return hint{event: e, key: coalesce.Tells(e), pace: paceOf(e)}
}

// inPlaceOf returns the hint as one that takes the place of another, and is not later than
// that would have been. What follows from it is not either.
func (h hint) inPlaceOf(other hint) hint {
	if h.pace < other.pace {
		h.event, h.pace = h.event.Clone(), other.pace
		h.event.SetExtension(events.ExtBulk, other.event.Extensions()[events.ExtBulk])
	}
	return h
}
