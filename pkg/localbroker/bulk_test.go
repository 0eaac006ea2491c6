// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	events "sluice.dev/apis/events/v1"
)

func inBulk(t *testing.T, name string) event.Event {
	e := tell(t, events.BindingActivated, name)
	e.SetExtension(events.ExtBulk, "true")
	return e
}

func awaited(t *testing.T, name string) event.Event {
	e := tell(t, events.BindingActivated, name)
	e.SetExtension(events.ExtBulk, events.NotBulk)
	return e
}

// handledInOrder publishes all while the stage is busy, and returns in which order it
// took them, as "name", "name (bulk)" or
// "name (single)".
func handledInOrder(t *testing.T, publish func(w world)) (order []string) {
	var published chan struct{}
	s := &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		name := nameOf(e)
		if name == "first" {
			<-published
			return nil, nil
		}
		switch {
		case events.Bulk(e):
			name += " (bulk)"
		case events.Single(e):
			name += " (single)"
		}
		order = append(order, name)
		return nil, nil
	}}
	triggers := []eventingv1.Trigger{parallelism(trigger("scheduler", events.BindingActivated), "1")}
	inWorld(t, Options{}, []*fake{s}, triggers, func(w world) {
		published = make(chan struct{})
		w.publish(tell(t, events.BindingActivated, "first"))
		synctest.Wait()
		publish(w)
		close(published)
		w.idle()
	})
	return order
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
		"what somebody waits for stays that, however it is told once more": {func(w world) {
			w.publish(awaited(t, "a"), awaited(t, "b"), tell(t, events.BindingActivated, "a"), inBulk(t, "b"))
		}, []string{"a (single)", "b (single)"}},
		"what waits in bulk is what somebody waits for once it is told so": {func(w world) {
			w.publish(inBulk(t, "a"), inBulk(t, "b"), awaited(t, "b"))
		}, []string{"b (single)", "a (bulk)"}},
	} {
		t.Run(sentence, func(t *testing.T) { diff(t, "handled", tc.want, handledInOrder(t, tc.publish)) })
	}
}

func TestWhatIsInBulkHasItsShare(t *testing.T) {
	for sentence, tc := range map[string]struct {
		fresh func(t *testing.T, name string) event.Event
		n     int
		want  []int // starts of what is in bulk
	}{
		"each eighth start while both wait, and then the rest": {func(t *testing.T, name string) event.Event {
			return tell(t, events.BindingActivated, name)
		}, 3 * bulkShare, []int{bulkShare - 1, 2*bulkShare - 1, 3*bulkShare - 1}},
		"each eighth while a few wait for what is their own": {awaited, crowd, []int{bulkShare - 1, crowd + 1, crowd + 2}},
		"each second beside a crowd, until it is none":       {awaited, crowd + 3, []int{1, 3, 5, bulkShare - 1, bulkShare + 7}},
	} {
		t.Run(sentence, func(t *testing.T) {
			order := handledInOrder(t, func(w world) {
				for i := range 10 {
					w.publish(inBulk(t, fmt.Sprintf("bulk-%d", i)))
				}
				for i := range tc.n {
					w.publish(tc.fresh(t, fmt.Sprintf("fresh-%d", i)))
				}
			})
			var at []int
			for i, name := range order {
				if strings.HasPrefix(name, "bulk") {
					at = append(at, i)
				}
			}
			diff(t, "starts of what is in bulk", tc.want, at[:len(tc.want)])
			diff(t, "handled once each", 10+tc.n, len(slices.Compact(slices.Sorted(slices.Values(order)))))
		})
	}
}

// While something runs for which somebody waits, an eighth of what is in bulk runs, in all
// stages together; but for a second at most, for it may be stuck, and not for a crowd.
func TestWhatIsInBulkMakesRoom(t *testing.T) {
	for sentence, tc := range map[string]struct {
		fresh int // events for which somebody waits
		takes time.Duration
		want  []int64 // bulk events that run after 100 ms, 1 s and 10 ms more, and when nobody waits
	}{
		"while somebody waits":                   {1, 500 * time.Millisecond, []int64{2, 16, 16}},
		"for no longer than a second":            {1, time.Minute, []int64{2, 16, 16}},
		"not where what somebody waits for ends": {1, time.Millisecond, []int64{16, 16, 16}},
		"while a few wait":                       {crowd, 500 * time.Millisecond, []int64{2, 16, 16}},
		"not where a crowd waits":                {crowd + 1, 500 * time.Millisecond, []int64{16, 16, 16}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var begun atomic.Int64
			many := &fake{name: "scheduler", handle: func(context.Context, event.Event) ([]event.Event, error) {
				begun.Add(1)
				time.Sleep(time.Hour)
				return nil, nil
			}}
			one := &fake{name: "gate", handle: func(context.Context, event.Event) ([]event.Event, error) {
				time.Sleep(tc.takes)
				return nil, nil
			}}
			triggers := []eventingv1.Trigger{parallelism(trigger("scheduler", events.BindingActivated), "64"), trigger("gate", events.TemplateClaimed)}
			inWorld(t, Options{Bulk: 2 * bulkShare}, []*fake{many, one}, triggers, func(w world) {
				for i := range tc.fresh {
					fresh := tell(t, events.TemplateClaimed, fmt.Sprintf("fresh-%d", i))
					fresh.SetExtension(events.ExtBulk, events.NotBulk)
					w.publish(fresh)
				}
				for i := range 40 {
					w.publish(inBulk(t, fmt.Sprint(i)))
				}
				var got []int64
				for _, d := range []time.Duration{100 * time.Millisecond, 910 * time.Millisecond, time.Minute} {
					time.Sleep(d)
					synctest.Wait()
					got = append(got, begun.Load())
				}
				diff(t, "bulk events that have begun", tc.want, got)
				w.idle()
				diff(t, "handled", int64(40), begun.Load())
				diff(t, "nobody is made room for", 0, w.pressing)
			})
		})
	}
}
