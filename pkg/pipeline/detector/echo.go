// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// remembered is how many writes a process remembers.
const remembered = 4096

// echoes are this process's last writes to templates. A source tells of each of
// them, and what it tells has been said: by who wrote it, or, if that failed, by
// its next attempt. It saves the whole way through the pipeline for each claim; a
// process that has forgotten, or is another, takes it once more.
type echoes struct {
	mu   sync.Mutex
	last map[propagation.TemplateKey]wrote
}

// wrote is the version that a write made, and the event that it was made for.
type wrote struct{ version, event string }

// note remembers a write.
func (x *echoes) note(e event.Event, t *propagation.Template) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == nil || len(x.last) >= remembered {
		x.last = map[propagation.TemplateKey]wrote{}
	}
	x.last[t.Key] = wrote{t.ResourceVersion, e.ID()}
}

// is tells whether the event is an echo: the template is as this process left it,
// for another event. What Sluice itself announces never is one: the sweeper makes
// up for what was lost.
func (x *echoes) is(e event.Event, t *propagation.Template) bool {
	if e.Type() != events.ResourceUpdated || events.Own(e) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w, ok := x.last[t.Key]
	return ok && w.version == t.ResourceVersion && w.event != e.ID()
}
