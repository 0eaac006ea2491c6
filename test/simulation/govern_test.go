// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/pipelinetest"
)

// What the hub does not serve for a while, or does not let Sluice do.
const (
	unserve verb = "serve no more"
	serve   verb = "serve again"
	revoke  verb = "revoke"
	grant   verb = "grant again"
)

// refusable are the things that rights may be missing for.
var refusable = []string{"Deployment", "ConfigMap", "binding", "work", "cluster m", "policies", "overrides", "revision"}

// refusals are the requests that are answered 403.
type refusals struct {
	about   string
	writing bool
}

func (r refusals) refuse(q pipelinetest.Request) bool {
	return r.about != "" && strings.Contains(q.About, r.about) && (q.Writes() || !r.writing)
}

func forbidden(r pipelinetest.Request) error {
	return apierrors.NewForbidden(apischema.GroupResource{Resource: r.About}, "", errors.New("the right was revoked"))
}

// ungoverned takes something away and gives it back.
func (d drawer) ungoverned() []op {
	run := op{verb: deliver, n: 1 + d.IntN(80), seed: d.Uint64() | 1}
	if d.chance(50) {
		return []op{{verb: revoke, n: d.IntN(len(refusable)), writing: d.chance(40)}, run, {verb: grant}}
	}
	key := pick(d, []propagation.TemplateKey{nginx, nginx, settings, viewer})
	return []op{{verb: unserve, key: key}, run, {verb: serve, key: key}}
}

// govern does that, and tells whether anything changed.
func (w *world) govern(o op) bool {
	kind, refused := o.key.GroupVersionKind(), w.refused
	switch o.verb {
	case unserve:
		served := w.hub.Serves(kind.GroupKind())
		w.hub.Serve(kind.GroupKind())
		return served
	case serve:
		return w.serveAgain(kind)
	case revoke:
		w.refused = refusals{refusable[o.n], o.writing}
	case grant:
		w.refused = refusals{}
	}
	return w.refused != refused
}

// serveAgain serves a kind as before: sources that watch it begin anew, and tell what
// there is; and the sweeper tells of what Redis knows and is not there.
func (w *world) serveAgain(kind apischema.GroupVersionKind) bool {
	if w.hub.Serves(kind.GroupKind()) {
		return false
	}
	w.hub.Serve(kind.GroupKind(), kind.Version)
	for _, t := range w.hub.LiveTemplates() {
		if t.Key.GroupVersionKind() == kind && w.watches(t.Key) {
			w.announce(hub.Change{Type: hub.Added, Key: t.Key, Version: t.ResourceVersion})
		}
	}
	records := w.redis.HGetAll(w.ctx, schema.Templates).Val()
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if key := w.past.ever[id]; key.GroupVersionKind() == kind && w.hub.Live(key) == nil {
			w.announce(hub.Change{Type: hub.Deleted, Key: key})
		}
	}
	return true
}

// makeUsable gives everything back.
func (w *world) makeUsable() {
	w.refused = refusals{}
	for _, m := range w.members {
		m.Refuses = nil
	}
	for _, t := range templates {
		w.serveAgain(t.GroupVersionKind())
	}
}

// outOfReach tells whether o is about a template of a kind that is not served: nobody
// can make, change or delete it.
func (w *world) outOfReach(o op) bool {
	switch o.verb {
	case putTemplate, replaceTemplate, dropTemplate, markTemplate, reportTemplate, unclaimTemplate, forgeTemplate, holdTemplate, releaseTemplate:
		return !w.hub.Serves(o.key.GroupVersionKind().GroupKind())
	}
	return false
}
