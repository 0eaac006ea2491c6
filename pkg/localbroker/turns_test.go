// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// of is an event about a thing in another namespace.
func of(t *testing.T, namespace, name string, bulk bool) event.Event {
	e := tell(t, events.BindingActivated, name, func(d *events.Data) {
		d.Template.Namespace, d.Binding.Namespace = namespace, namespace
	})
	if bulk {
		e.SetExtension(events.ExtBulk, "true")
	}
	return e
}

func TestNamespacesTakeTurns(t *testing.T) {
	for sentence, tc := range map[string]struct {
		publish func(w world)
		want    []string
	}{
		"who changes one thing does not wait for all that another changes": {func(w world) {
			w.publish(of(t, "load", "a", false), of(t, "load", "b", false), of(t, "load", "c", false), of(t, "quick", "d", false))
		}, []string{"a", "d", "b", "c"}},
		"in one namespace what came first goes first": {func(w world) {
			w.publish(of(t, "load", "a", false), of(t, "quick", "d", false), of(t, "load", "b", false), of(t, "quick", "e", false))
		}, []string{"a", "d", "b", "e"}},
		"so it is with what is in bulk": {func(w world) {
			w.publish(of(t, "load", "a", true), of(t, "load", "b", true), of(t, "quick", "d", true))
		}, []string{"a (bulk)", "d (bulk)", "b (bulk)"}},
		"what is told otherwise, and is not in bulk any more, takes its namespace's turn": {func(w world) {
			w.publish(of(t, "load", "a", false), of(t, "load", "b", false), of(t, "quick", "d", true), of(t, "quick", "e", true), of(t, "quick", "e", false))
		}, []string{"a", "e", "b", "d (bulk)"}},
	} {
		t.Run(sentence, func(t *testing.T) { diff(t, "handled", tc.want, handledInOrder(t, tc.publish)) })
	}
}
