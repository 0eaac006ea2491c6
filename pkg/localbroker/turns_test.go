// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"fmt"
	"testing"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

func inNamespace(namespace string) func(*events.Data) {
	return func(d *events.Data) {
		d.Template.Namespace = namespace
		*d.Binding = propagation.BindingOf(*d.Template)
	}
}

// TestNamespacesTakeTurns: whoever makes thousands of templates at once delays those of
// other namespaces by one of them each.
func TestNamespacesTakeTurns(t *testing.T) {
	order := handledInOrder(t, func(w world) {
		for i := range 4 {
			w.publish(tell(t, events.BindingActivated, fmt.Sprintf("many-%d", i), inNamespace("many")))
		}
		for i := range 2 {
			w.publish(tell(t, events.BindingActivated, fmt.Sprintf("few-%d", i), inNamespace("few")))
		}
		w.publish(tell(t, events.BindingActivated, "none", inNamespace("")))
	})
	diff(t, "handled", []string{"many-0", "few-0", "none", "many-1", "few-1", "many-2", "many-3"}, order)
}

// TestNamespacesTakeTurnsInBulk: of two fan-outs, the later one does not come behind the
// whole of the earlier one.
func TestNamespacesTakeTurnsInBulk(t *testing.T) {
	order := handledInOrder(t, func(w world) {
		for _, namespace := range []string{"early", "late"} {
			for i := range 3 {
				e := tell(t, events.BindingActivated, fmt.Sprintf("%s-%d", namespace, i), inNamespace(namespace))
				e.SetExtension(events.ExtBulk, "true")
				w.publish(e)
			}
		}
	})
	diff(t, "handled", []string{
		"early-0 (bulk)", "late-0 (bulk)", "early-1 (bulk)", "late-1 (bulk)", "early-2 (bulk)", "late-2 (bulk)",
	}, order)
}

// TestALaneThatIsPromotedLeavesItsTurn: it is handled once, and nothing of it is left.
func TestALaneThatIsPromotedLeavesItsTurn(t *testing.T) {
	order := handledInOrder(t, func(w world) {
		w.publish(inBulk(t, "a"), tell(t, events.BindingActivated, "b", inNamespace("other")), tell(t, events.BindingActivated, "a"))
	})
	diff(t, "handled", []string{"b", "a"}, order)
}
