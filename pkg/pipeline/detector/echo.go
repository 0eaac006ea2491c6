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

// remembered is of how many objects a process remembers what it has told; what it
// told longest ago is forgotten first.
const remembered = 4096

// echoes are what this process has told last of templates and of policies. A
// source tells of Sluice's own writes, too: of each claim, of each status. What
// these say has been told: by who wrote it, or, if that failed, by its next
// attempt. It saves the whole way through the pipeline for each, and for a policy
// that of all its templates; a process that has forgotten, or is another, takes it
// once more.
type echoes struct{ last *lru.Cache }

func newEchoes() echoes { return echoes{lru.New(remembered)} }

// told is what was told of an object, at which version of a template, and the event
// that it was told for.
type told struct{ state, version, event string }

// about is what was told of an object, if that has anything to say of the event.
// A second delivery is no echo of the first, nor is what is handled for one. What
// Sluice itself announces never is one: the sweeper makes up for what was lost.
func (x *echoes) about(ctx context.Context, e event.Event, key any) (told, bool) {
	if e.Type() != events.ResourceUpdated || events.Own(e) {
		return told{}, false
	}
	known, _ := x.last.Get(key)
	w, ok := known.(told)
	return w, ok && w.event != e.ID() && !coalesce.Covers(ctx, w.event)
}

// ofTemplate tells whether the event is an echo: the template is as this process
// left it, or nobody but Sluice has written it since, and nothing but its status.
func (x *echoes) ofTemplate(ctx context.Context, e event.Event, t *propagation.Template) bool {
	w, ok := x.about(ctx, e, t.Key)
	return ok && (w.version == t.ResourceVersion || t.Ours && w.state == stateOf(t))
}

func (x *echoes) noteTemplate(e event.Event, t *propagation.Template) {
	x.last.Add(t.Key, told{stateOf(t), t.ResourceVersion, e.ID()})
}

// stateOf is all of a template but its status. Its generation tells that it has
// been something else in between, which a later stage may have read.
func stateOf(t *propagation.Template) string {
	meta, _ := t.Object["metadata"].(map[string]any)
	return propagation.HashJSON([]any{string(t.UID), t.Hash, t.Deleting, meta["generation"], meta["labels"], meta["annotations"]})
}

// ofPolicy tells whether the event is an echo: this process has told the templates
// of what the policy says.
func (x *echoes) ofPolicy(ctx context.Context, e event.Event, p *propagation.Policy) bool {
	w, ok := x.about(ctx, e, p.Key)
	return ok && w.state == contentOf(p)
}

func (x *echoes) notePolicy(e event.Event, p *propagation.Policy) {
	x.last.Add(p.Key, told{state: contentOf(p), event: e.ID()})
}

// contentOf is all of a policy but its status.
func contentOf(p *propagation.Policy) string {
	return fmt.Sprintf("%s/%d/%s", p.UID, p.Generation, p.ID)
}
