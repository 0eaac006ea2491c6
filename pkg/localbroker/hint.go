// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// hint is an event with the keys that queues need.
type hint struct {
	event event.Event
	key   string // of what it tells; see coalescingKey
	lane  string // of what it must stay in order with
}

func hintOf(e event.Event) hint {
	h := hint{event: e, key: coalescingKey(e)}
	h.lane, _ = e.Extensions()[events.ExtPartitionKey].(string)
	if h.lane == "" {
		h.lane = h.key
	}
	return h
}

// coalescingKey is equal for events that tell the same. For the types of the
// event contract that is: the same type, subject, page of a fan-out and
// extensions, but for the trace and the reason; versions and messages in the
// data do not count, because whoever gets the event reads the live state. An
// event of any other type tells something of its own: source and id tell it.
func coalescingKey(e event.Event) string {
	var b strings.Builder
	part := func(s string) { b.WriteString(s); b.WriteByte(0) }
	part(e.Type())
	if !isHint(e.Type()) {
		part(e.Source())
		part(e.ID())
		return b.String()
	}
	part(e.Subject())
	part(page(e))
	x := e.Extensions()
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if name != events.ExtTraceParent && name != events.ExtReason {
			part(name)
			part(fmt.Sprint(x[name]))
		}
	}
	return b.String()
}

// isHint tells whether the type belongs to the event contract.
func isHint(eventType string) bool {
	switch eventType {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted, events.Ping:
		return true
	}
	_, ours := events.Catalog[eventType]
	return ours
}

// page is where the fan-out goes on that the event tells of; empty for most.
func page(e event.Event) string {
	var d struct {
		Continue string `json:"continue"`
	}
	if bytes.Contains(e.Data(), []byte(`"continue"`)) {
		_ = json.Unmarshal(e.Data(), &d) // the stage says what is wrong with it
	}
	return d.Continue
}
