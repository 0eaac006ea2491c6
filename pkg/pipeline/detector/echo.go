// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// remembered is of how many objects a process remembers what it has told.
const remembered = 4096

// echoes are what this process has told last of templates. A
// source tells of Sluice's own writes, too: of each claim, of each status. What
// these say has been told: by who wrote it, or, if that failed, by its next
// attempt. It saves the whole way through the pipeline for each; a process that has forgotten, or is another, takes it
// once more.
type echoes struct {
	mu   sync.Mutex
	last map[propagation.TemplateKey]told
}

// told is what was told of a template, at which version, and the event that it was
// told for.
type told struct{ state, version, event string }

func (x *echoes) note(key propagation.TemplateKey, w told) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == nil || len(x.last) >= remembered {
		x.last = map[propagation.TemplateKey]told{}
	}
	x.last[key] = w
}

// about is what was told of an object, if that has anything to say of the event.
// A second delivery is no echo of the first. What Sluice itself announces never is
// one: the sweeper makes up for what was lost.
func (x *echoes) about(e event.Event, key propagation.TemplateKey) (told, bool) {
	if e.Type() != events.ResourceUpdated || events.Own(e) {
		return told{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w, ok := x.last[key]
	return w, ok && w.event != e.ID()
}

// ofTemplate tells whether the event is an echo: the template is as this process
// left it, or nobody but Sluice has written it since, and nothing but its status.
func (x *echoes) ofTemplate(e event.Event, t *propagation.Template) bool {
	w, ok := x.about(e, t.Key)
	return ok && (w.version == t.ResourceVersion || t.Ours && w.state == stateOf(t))
}

func (x *echoes) noteTemplate(e event.Event, t *propagation.Template) {
	x.note(t.Key, told{stateOf(t), t.ResourceVersion, e.ID()})
}

// stateOf is all of a template but its status.
func stateOf(t *propagation.Template) string {
	meta, _ := t.Object["metadata"].(map[string]any)
	return propagation.HashJSON([]any{string(t.UID), t.Hash, t.Deleting, meta["labels"], meta["annotations"]})
}
