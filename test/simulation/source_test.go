// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/test/pipelinetest"
)

var resourceTypes = map[hub.ChangeType]string{
	hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted,
}

// tell lets the hub's source tell its oldest news of a kind. Where sources may,
// the dice lose it now and then, until the next tick.
func (w *world) tell(kind string, dice *rand.Rand) {
	n := w.hub.Tell(kind)
	if _, ok := hub.PolicyKeyOf(n.Key); ok {
		w.followPolicies(true)
	}
	switch {
	case n.Own && !w.echo, !w.watches(n.Key):
	case w.echo && dice != nil && dice.IntN(4) == 0:
		w.trace("  lost: %s %s", n.Type, n.Key)
		w.missed = append(w.missed, n.Change)
	default:
		w.announce(n.Change)
	}
}

func (w *world) announce(c hub.Change) {
	c.Key = w.gears.told(c.Key)
	w.source(resourceTypes[c.Type], events.Object{TemplateKey: c.Key, Version: c.Version})
}

func (w *world) source(eventType string, o events.Object) {
	e, err := events.NewResource("/simulation", eventType, o)
	if err != nil {
		w.fail("make an event: %v", err)
		return
	}
	w.publish(e)
}

// tellMember lets a member's source tell its oldest news; false: there is none.
func (w *world) tellMember(cluster string) bool {
	m := w.members[cluster]
	if m.Down {
		return false
	}
	n, ok := m.Tell()
	if ok && (!n.Own || w.echo) && (!w.left[cluster] || w.hub.Joined(cluster)) {
		w.announceMember(cluster, n)
	}
	return ok
}

func (w *world) announceMember(cluster string, n pipelinetest.MemberNews) {
	eventType := events.ResourceUpdated
	if n.Deleted {
		eventType = events.ResourceDeleted
	}
	w.source(eventType, events.Object{TemplateKey: n.Ref, Version: strconv.Itoa(n.Version), Cluster: cluster})
}

// watches tells whether the hub's source tells of the kind.
func (w *world) watches(k propagation.TemplateKey) bool {
	gvk := k.GroupVersionKind()
	return !w.follow || gvk.Kind == "ConfigMap" || gvk.Kind == "ControllerRevision" || gvk.Group == "policy.karmada.io" ||
		gvk.Group == "work.karmada.io" || gvk.Group == "cluster.karmada.io" || w.follows[gvk.GroupKind().String()]
}

// followPolicies watches the kinds that policies select, and what these may
// depend on. What there is of a new one is announced.
func (w *world) followPolicies(announce bool) {
	follow := func(gvk schema.GroupVersionKind) {
		k := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
		if w.watches(k) {
			return
		}
		w.follows[gvk.GroupKind().String()] = true
		for _, t := range w.hub.LiveTemplates() {
			if announce && t.Key.GroupVersionKind().GroupKind() == gvk.GroupKind() {
				w.announce(hub.Change{Type: hub.Added, Key: t.Key, Version: t.ResourceVersion})
			}
		}
	}
	for _, p := range w.hub.LivePolicies() {
		for _, s := range p.Spec.ResourceSelectors {
			follow(schema.FromAPIVersionAndKind(s.APIVersion, s.Kind))
		}
		if p.Spec.PropagateDeps {
			for _, k := range dependencies.Kinds {
				follow(k.GroupVersionKind())
			}
		}
	}
}

// remember watches what was claimed or bound when everything ended.
func (w *world) remember() {
	for _, t := range w.hub.LiveTemplates() {
		if t.Labels[propagation.ClaimLabelNamespaced]+t.Labels[propagation.ClaimLabelCluster] != "" {
			w.follows[t.Key.GroupVersionKind().GroupKind().String()] = true
		}
	}
	for _, b := range w.hub.LiveBindings() {
		w.follows[b.Template().GroupVersionKind().GroupKind().String()] = true
	}
}

// went are the templates, policies and overrides that there were.
func (w *world) went() []hub.Change {
	var all []hub.Change
	for _, id := range slices.Sorted(maps.Keys(w.past.ever)) {
		if k := w.past.ever[id]; w.hub.Live(k) == nil {
			all = append(all, hub.Change{Type: hub.Deleted, Key: k})
		}
	}
	for _, p := range policies {
		if w.hub.LivePolicy(p) == nil {
			about := hub.AboutPolicy(&propagation.Policy{Key: p})
			all = append(all, hub.Change{Type: hub.Deleted, Key: propagation.TemplateKey{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: p.Namespace, Name: p.Name}})
		}
	}
	for _, key := range w.overrides {
		if !slices.ContainsFunc(w.hub.LiveOverrides(), func(o propagation.Override) bool { return o.Key == key }) {
			all = append(all, hub.Change{Type: hub.Deleted, Key: pipelinetest.OverrideObject(key)})
		}
	}
	return all
}

// makeUp announces what a source lost, as the sweeper does where it does not watch:
// but for templates that are complete.
func (w *world) makeUp() {
	missed := w.missed
	w.missed = nil
	for _, c := range missed {
		if w.complete(c) {
			w.trace("  complete: %s", c.Key)
			continue
		}
		w.announce(c)
	}
}

func (w *world) complete(c hub.Change) bool {
	t, b := w.hub.Live(c.Key), w.bindingOf(c.Key)
	if c.Type == hub.Deleted || t == nil || b == nil {
		return false
	}
	return reporting.Complete(kinds.Table{}, t, b, w.worksOf(b))
}

// worksOf are the Works of a binding as they are.
func (w *world) worksOf(b *propagation.Binding) []*propagation.Work {
	return slices.DeleteFunc(w.hub.LiveWorks(), func(work *propagation.Work) bool { return work.Binding() != b.Key })
}

// tick is PingSource's.
func (w *world) tick() {
	w.makeUp()
	w.hub.CollectGarbage()
	e := event.New()
	e.SetID(fmt.Sprintf("tick-%d", w.now.UnixNano()))
	e.SetType(events.Ping)
	e.SetSource("/simulation")
	w.publish(e)
}
