// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strings"
	"time"

	"sluice.dev/pkg/hub"
)

// final checks that at rest nothing moves any more, and nobody is told anything: whatever
// is repeated, lost or started again.
func (w *world) final() {
	for _, again := range []struct {
		what string
		do   func()
	}{
		{"every event was delivered once more", func() { w.broker.queue = append(w.broker.queue, w.broker.ever...) }},
		{"everything was started again", w.restart},
		{"Redis was flushed", func() { w.loseRedis(); w.broker.queue = append(w.broker.queue, w.broker.ever...) }},
	} {
		before := w.writes.Load()
		var requests []string
		trace := w.trace
		w.trace = func(format string, args ...any) {
			if strings.HasPrefix(format, "      ") && len(requests) < 5 {
				requests = append(requests, sprintf(format, args...))
			}
			trace(format, args...)
		}
		var told []string
		w.hub.Recorded = func(about hub.About, reason, message string) {
			if about == hub.AboutFeatures() {
				return // the gates of this hub are in no ConfigMap, and each event of them tells that it is missing
			}
			if reason == "CannotTell" && strings.HasSuffix(message, "ControllerRevision.apps is not served") {
				return // nor are revisions objects that can be listed here, and each look at a namespace tells so
			}
			told = append(told, sprintf("%s %s/%s: %s: %s", about.Kind, about.Namespace, about.Name, reason, message))
		}
		trace("finally: %s", again.what)
		again.do()
		for range 3 {
			w.pass(time.Minute)
			w.tick()
			w.drain()
		}
		w.trace, w.hub.Recorded = trace, nil
		if w.err == nil && len(told) > 0 {
			w.fail("at rest %s, and people are told again:\n%s", again.what, strings.Join(told, "\n"))
		}
		if w.err == nil && w.writes.Load() != before {
			w.fail("at rest %s, and there were %d writes:\n%s", again.what, w.writes.Load()-before, strings.Join(requests, "\n"))
		}
	}
	if w.err == nil {
		w.atRest()
	}
}
