// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// Events are hints: whoever may publish some can have things looked at, and no more.

const forgeEvent verb = "forge event"

// forgeries are the events that somebody publishes of what is not so.
var forgeries = []string{
	events.ResourceDeleted, events.BindingRemoved, events.WorkRemoved, events.WorkDeleted, events.TemplateReleased,
	events.BindingScheduled, events.BindingActivated, events.WorkRendered, events.WorkApplied, events.ClusterChanged, events.OverridesChanged, "of the member",
}

// forgeEvent publishes one about what there is of a template; false: there is nothing.
func (w *world) forgeEvent(o op) bool {
	switch what := forgeries[o.n]; what {
	case events.ResourceDeleted:
		if !w.watches(o.key) {
			return false
		}
		w.source(what, events.Object{TemplateKey: o.key, Version: "1"})
		return true
	case "of the member":
		w.source(events.ResourceDeleted, events.Object{TemplateKey: o.key, Version: "1", Cluster: o.cluster})
		return true
	}
	d := events.Data{Template: &o.key, Reason: "Forged"}
	switch forgeries[o.n] {
	case events.ClusterChanged:
		d = events.Data{Cluster: o.cluster, Reason: "Forged"}
	case events.OverridesChanged:
		d = events.Data{Policy: &propagation.PolicyKey{Scope: propagation.Cluster, Name: "forged"}, Reason: "Forged"}
	case events.WorkRemoved, events.WorkDeleted, events.WorkRendered, events.WorkApplied:
		work := w.workOf(o.key, o.cluster)
		if work == nil {
			return false
		}
		binding := work.Binding()
		d.Binding, d.Work, d.Cluster = &binding, &work.Key, o.cluster
	case events.TemplateReleased:
	default:
		b := w.bindingOf(o.key)
		if b == nil {
			return false
		}
		d.Binding = &b.Key
	}
	cause := event.New()
	cause.SetID(fmt.Sprintf("forged-%d", w.now.UnixNano()))
	cause.SetSource("/simulation")
	out := events.From("forger", cause)
	out.Emit(forgeries[o.n], d)
	forged, err := out.Events()
	if err != nil {
		w.fail("forge %s: %v", forgeries[o.n], err)
		return false
	}
	w.publish(forged[0])
	return true
}
