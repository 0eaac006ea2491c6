// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudevents/sdk-go/v2/event"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	events "sluice.dev/apis/events/v1"
)

func inBulk(t *testing.T, name string) event.Event {
	e := tell(t, events.BindingActivated, name)
	e.SetExtension(events.ExtBulk, "true")
	return e
}

// handledInOrder publishes all while the stage is busy, and returns in which order it
// took them, as "name" or "name (bulk)".
func handledInOrder(t *testing.T, publish func(w world)) (order []string) {
	s := &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		name := nameOf(e)
		if events.Bulk(e) {
			name += " (bulk)"
		}
		order = append(order, name)
		return slow(t.Context(), e)
	}}
	triggers := []eventingv1.Trigger{parallelism(trigger("scheduler", events.BindingActivated), "1")}
	inWorld(t, Options{}, []*fake{s}, triggers, func(w world) {
		w.publish(tell(t, events.BindingActivated, "slow"))
		synctest.Wait()
		publish(w)
		w.idle()
	})
	return order[1:]
}

func TestWhatIsInBulkGivesWay(t *testing.T) {
	for sentence, tc := range map[string]struct {
		publish func(w world)
		want    []string
	}{
		"what is not in bulk goes first, whenever it came": {func(w world) {
			w.publish(inBulk(t, "a"), inBulk(t, "b"), tell(t, events.BindingActivated, "c"))
		}, []string{"c", "a (bulk)", "b (bulk)"}},
		"what waits in bulk goes first once it is told otherwise, and is not in bulk any more": {func(w world) {
			w.publish(inBulk(t, "a"), inBulk(t, "b"), tell(t, events.BindingActivated, "b"))
		}, []string{"b", "a (bulk)"}},
		"what is told in bulk, too, keeps its place": {func(w world) {
			w.publish(tell(t, events.BindingActivated, "a"), tell(t, events.BindingActivated, "b"), inBulk(t, "a"))
		}, []string{"a", "b"}},
	} {
		t.Run(sentence, func(t *testing.T) { diff(t, "handled", tc.want, handledInOrder(t, tc.publish)) })
	}
}

func TestWhatIsInBulkHasItsShare(t *testing.T) {
	order := handledInOrder(t, func(w world) {
		for i := range 10 {
			w.publish(inBulk(t, fmt.Sprintf("bulk-%d", i)))
		}
		for i := range 3 * bulkShare {
			w.publish(tell(t, events.BindingActivated, fmt.Sprintf("fresh-%d", i)))
		}
	})
	var at []int
	for i, name := range order {
		if strings.HasPrefix(name, "bulk") {
			at = append(at, i)
		}
	}
	// Each eighth start while both wait, and then the rest.
	diff(t, "starts of what is in bulk", []int{bulkShare - 1, 2*bulkShare - 1, 3*bulkShare - 1}, at[:3])
	diff(t, "handled once each", 10+3*bulkShare, len(slices.Compact(slices.Sorted(slices.Values(order)))))
}
