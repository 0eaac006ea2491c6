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

// remembered is how many objects announced holds. The one announced longest ago is
// forgotten first.
const remembered = 4096

// announced is what this process last announced about each template and policy. A
// source also sends events about Sluice's own writes, such as claims and statuses.
// Whoever made such a write has announced it, or will at the next attempt if that
// failed. Skipping these events saves a run through the whole pipeline for each, and
// for a policy a run for each of its templates. A process that has forgotten an object,
// or another process, announces it once more.
type announced struct{ last *lru.Cache }

func newAnnounced() announced { return announced{lru.New(remembered)} }

// told is what was announced about an object: its state, the version of a template, and
// the event that it was announced for. A version or generation alone is not enough:
// after the hub was restored from a backup, the same ones are used again.
type told struct{ state, version, event string }

// about returns what was last announced about an object. It is false if the event must
// be handled in any case: because it is delivered again, or because Sluice itself sent
// it, as the sweeper does to make up for lost events.
func (x *announced) about(ctx context.Context, e event.Event, key any) (told, bool) {
	if e.Type() != events.ResourceUpdated || events.Own(e) {
		return told{}, false
	}
	known, _ := x.last.Get(key)
	w, ok := known.(told)
	return w, ok && w.event != e.ID() && !coalesce.Covers(ctx, w.event)
}

// hasTemplate reports whether the event was announced already: the template is as this
// process left it, or only Sluice has written it since, and only its status.
func (x *announced) hasTemplate(ctx context.Context, e event.Event, t *propagation.Template) bool {
	w, ok := x.about(ctx, e, t.Key)
	return ok && (w.version == t.ResourceVersion || t.Ours) && w.state == stateOf(t)
}

func (x *announced) noteTemplate(e event.Event, t *propagation.Template) {
	x.last.Add(t.Key, told{stateOf(t), t.ResourceVersion, e.ID()})
}

// stateOf identifies everything of a template but its status. With the generation it
// also shows that the template had another spec in between, which a later stage may
// have read.
func stateOf(t *propagation.Template) string {
	meta, _ := t.Object["metadata"].(map[string]any)
	return propagation.HashJSON([]any{string(t.UID), t.Hash, t.Deleting, meta["generation"], meta["labels"], meta["annotations"]})
}

// hasPolicy reports whether this process has already announced the policy's present
// content to the templates.
func (x *announced) hasPolicy(ctx context.Context, e event.Event, p *propagation.Policy) bool {
	w, ok := x.about(ctx, e, p.Key)
	return ok && w.state == contentOf(p)
}

func (x *announced) notePolicy(e event.Event, p *propagation.Policy) {
	x.last.Add(p.Key, told{state: contentOf(p), event: e.ID()})
}

// contentOf identifies everything of a policy but its status.
func contentOf(p *propagation.Policy) string {
	return fmt.Sprintf("%s/%d/%s/%s", p.UID, p.Generation, p.ID, propagation.HashJSON(p.Spec))
}
