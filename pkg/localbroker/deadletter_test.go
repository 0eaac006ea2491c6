// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp/cmpopts"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

func TestDeadLettersSayWhatAndWhy(t *testing.T) {
	with := func(data any) event.Event {
		e := tell(t, events.BindingActivated, "a")
		if err := e.SetData("application/json", data); err != nil {
			t.Fatal(err)
		}
		return e
	}
	foreign := tell(t, events.BindingActivated, "a")
	foreign.SetType("com.example.order")
	oversized := with(strings.Repeat("x", events.MaxSize))
	// A stage that decodes what it gets, and panics at the name of poison.
	decode := func(_ context.Context, e event.Event) ([]event.Event, error) {
		if nameOf(e) == "poison" {
			panic("boom")
		}
		_, err := events.Decode(e)
		return nil, err
	}
	tests := map[string]struct {
		event         event.Event
		want          DeadLetter
		wantTransient bool
		wantDropped   bool // the data of the event
	}{
		"a poison event":                     {tell(t, events.BindingActivated, "poison"), DeadLetter{Outcome: function.Retry, Reason: function.ReasonPanic, Attempts: 3}, true, false},
		"an event whose data are malformed":  {with("nonsense"), DeadLetter{Outcome: function.Terminal, Reason: function.ReasonMalformed, Attempts: 1}, false, false},
		"an event whose data lack something": {with(events.Data{}), DeadLetter{Outcome: function.Terminal, Reason: function.ReasonMalformed, Attempts: 1}, false, false},
		"an oversized event":                 {oversized, DeadLetter{Outcome: function.Terminal, Reason: function.ReasonTooLarge, Attempts: 1}, false, true},
		"a foreign event":                    {foreign, DeadLetter{Outcome: function.Terminal, Reason: function.ReasonMalformed, Attempts: 1}, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &fake{name: "scheduler", handle: decode}
			tr := trigger("scheduler", events.BindingActivated, "com.example.order")
			inWorld(t, Options{Delivery: delivery(2)}, []*fake{s}, onlyTrigger(tr), func(w world) {
				w.publish(tc.event)
				w.idle()
				dead := w.DeadLetters()
				if len(dead) != 1 {
					t.Fatalf("got %d dead letters, want 1", len(dead))
				}
				tc.want.Trigger, tc.want.Stage = "scheduler", "scheduler"
				diff(t, "dead letter", tc.want, dead[0], cmpopts.IgnoreFields(DeadLetter{}, "Event", "Err", "Time"))
				diff(t, "transient", tc.wantTransient, dead[0].Transient())
				diff(t, "id", tc.event.ID(), dead[0].Event.ID())
				diff(t, "dropped", tc.wantDropped, len(dead[0].Event.Data()) == 0)
				if dead[0].Err == nil {
					t.Error("the dead letter has no error")
				}
				w.publish(tell(t, events.BindingActivated, "good"))
				w.idle()
				diff(t, "stats", Stats{Counters: Counters{Handled: 1, Dead: 1, Retried: uint64(tc.want.Attempts - 1)}, DeadLetters: 1}, w.Stats()["scheduler"])
			})
		})
	}
}

func TestADeadLetterGoesWhenTheSameIsHandled(t *testing.T) {
	s := &fake{name: "scheduler", handle: failing(1)}
	inWorld(t, Options{}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"), tell(t, events.BindingActivated, "b"))
		w.idle()
		w.publish(tell(t, events.BindingActivated, "a"))
		w.idle()
		diff(t, "left", []string{"b"}, names(w.DeadLetters()))
		diff(t, "stats", Stats{Counters: Counters{Handled: 1, Dead: 2}, DeadLetters: 1}, w.Stats()["scheduler"])
	})
}

func TestDeadLettersAreBoundedAndCountedExactly(t *testing.T) {
	s := &fake{name: "scheduler", handle: failing(99)}
	tr := parallelism(trigger("scheduler", events.BindingActivated), "1")
	inWorld(t, Options{DeadLetters: 3}, []*fake{s}, onlyTrigger(tr), func(w world) {
		for i := range 5 {
			w.publish(tell(t, events.BindingActivated, fmt.Sprint("a", i)))
		}
		w.idle()
		w.publish(tell(t, events.BindingActivated, "a3"))
		w.idle()
		diff(t, "the newest stay, each once", []string{"a2", "a4", "a3"}, names(w.DeadLetters()))
		diff(t, "all are counted", uint64(6), w.Stats()["scheduler"].Dead)
	})
}

func TestRedeliverHandlesAgainWhatIsChosen(t *testing.T) {
	broken := true
	s := &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		if nameOf(e) == "malformed" {
			return nil, events.ErrMalformed
		}
		if broken {
			return nil, errOops
		}
		return nil, nil
	}}
	tr := parallelism(trigger("scheduler", events.BindingActivated), "1")
	inWorld(t, Options{}, []*fake{s}, onlyTrigger(tr), func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"), tell(t, events.BindingActivated, "malformed"), tell(t, events.BindingActivated, "b"))
		w.idle()
		diff(t, "still broken", 2, w.Redeliver(DeadLetter.Transient))
		w.idle()
		diff(t, "dead", []string{"malformed", "a", "b"}, names(w.DeadLetters()))
		broken = false
		n := w.Redeliver(func(d DeadLetter) bool {
			diff(t, "broker can be asked meanwhile", 3, len(w.DeadLetters()))
			return d.Transient()
		})
		diff(t, "mended", 2, n)
		synctest.Wait()
		diff(t, "dead", []string{"malformed"}, names(w.DeadLetters()))
	})
}

func names(dead []DeadLetter) (out []string) {
	for _, d := range dead {
		out = append(out, nameOf(d.Event))
	}
	return out
}
