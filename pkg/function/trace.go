// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// traced is e with a trace context. Where e has none, its trace begins here: it
// is derived from source and id, so that a redelivery stays in the same trace.
// What the stage emits carries it on (events.New).
func traced(e event.Event) event.Event {
	if tp, ok := e.Extensions()[events.ExtTraceParent].(string); ok && tp != "" {
		return e
	}
	sum := sha256.Sum256([]byte(e.Source() + "\x00" + e.ID()))
	e = e.Clone()
	e.SetExtension(events.ExtTraceParent, "00-"+hex.EncodeToString(sum[:16])+"-"+hex.EncodeToString(sum[16:24])+"-01")
	return e
}
