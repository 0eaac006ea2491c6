// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/coalesce"
)

// hint is an event with the keys that queues need.
type hint struct {
	event event.Event
	key   string // of what it tells
	lane  string // of what it must stay in order with, at the stage that gets it
}

func hintOf(e event.Event) hint {
	return hint{event: e, key: coalesce.Tells(e)}
}
