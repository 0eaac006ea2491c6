// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/utils/lru"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/core/propagation"
)

// remembered is how many objects announced holds. The one that was announced longest
// ago is forgotten first.
const remembered = 4096

// announced is what this process announced last about each template and policy. A
// source also sends events about Sluice's own writes: each claim, each status. What
// they say has been announced by whoever wrote it, or will be by the next attempt if
// that failed. Leaving them out saves a run through the whole pipeline for each, and
// for a policy a run for each of its templates. A process that has forgotten, or
// another one, announces it once more.
type announced struct{ last *lru.Cache }

func newAnnounced() announced { return announced{lru.New(remembered)} }

// told is what was told of an object, at which version of a template, and the event
// that it was told for. A version or a generation alone tells nothing: where the hub was
// restored from a backup, each comes once more.
type told struct{ state, version, event string }

// about returns what was announced last about an object; false where that says nothing
// about the event: an event that is delivered again is handled again, and so is what
// Sluice itself sends, as the sweeper does to make up for what was lost.
func (x *announced) about(ctx context.Context, e event.Event, key any) (told, bool) {
	if e.Type() != events.ResourceUpdated || events.Own(e) {
		return told{}, false
	}
	known, _ := x.last.Get(key)
	w, ok := known.(told)
	return w, ok && w.event != e.ID() && !coalesce.Covers(ctx, w.event)
}

// hasTemplate tells whether the event was announced: the template is as this process
// left it, or only Sluice has written it since, and only its status.
func (x *announced) hasTemplate(ctx context.Context, e event.Event, t *propagation.Template) bool {
	w, ok := x.about(ctx, e, t.Key)
	return ok && (w.version == t.ResourceVersion || t.Ours) && w.state == stateOf(t)
}

func (x *announced) noteTemplate(e event.Event, t *propagation.Template) {
	x.last.Add(t.Key, told{stateOf(t), t.ResourceVersion, e.ID()})
}

// stateOf is all of a template but its status. Its generation tells that it has
// been something else in between, which a later stage may have read.
func stateOf(t *propagation.Template) string {
	meta, _ := t.Object["metadata"].(map[string]any)
	return propagation.HashJSON([]any{string(t.UID), t.Hash, t.Deleting, meta["generation"], meta["labels"], meta["annotations"]})
}

// hasPolicy tells whether the event was announced: this process has told the templates
// what the policy says.
func (x *announced) hasPolicy(ctx context.Context, e event.Event, p *propagation.Policy) bool {
	w, ok := x.about(ctx, e, p.Key)
	return ok && w.state == contentOf(p)
}

func (x *announced) notePolicy(e event.Event, p *propagation.Policy) {
	x.last.Add(p.Key, told{state: contentOf(p), event: e.ID()})
}

// contentOf is all of a policy but its status.
func contentOf(p *propagation.Policy) string {
	return fmt.Sprintf("%s/%d/%s/%s", p.UID, p.Generation, p.ID, propagation.HashJSON(p.Spec))
}
