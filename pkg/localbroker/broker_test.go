// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/outcome"
)

var onActivated = []eventingv1.Trigger{trigger("scheduler", events.BindingActivated)}

func TestRepliesGoToWhoeverWantsThem(t *testing.T) {
	gate := &fake{name: "gate", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		return []event.Event{tell(t, events.BindingActivated, nameOf(e)), tell(t, events.BindingDeferred, "unheard")}, nil
	}}
	scheduler, team := &fake{name: "scheduler"}, &fake{name: "team"}
	inWorld(t, Options{}, []*fake{gate, scheduler, team}, append(onActivated,
		trigger("gate", events.TemplateClaimed), trigger("team", events.TemplateClaimed, events.BindingActivated)),
		func(w world) {
			w.publish(tell(t, events.TemplateClaimed, "nginx"))
			w.idle()
			diff(t, "gate", []string{"nginx@0s"}, gate.seen())
			diff(t, "scheduler", []string{"nginx@0s"}, scheduler.seen())
			diff(t, "team", []string{"nginx@0s", "nginx@0s"}, team.seen())
		})
}

func TestOneKeyInOrderOthersMeanwhile(t *testing.T) {
	tests := map[string]struct {
		parallelism string
		names       []string
		want        []string // sorted
	}{
		"two keys at once, each in order":     {"8", []string{"slow1", "slow1", "slow2", "slow2"}, []string{"slow1@0s", "slow1@1s", "slow2@0s", "slow2@1s"}},
		"no more at once than allowed":        {"2", []string{"slow1", "slow2", "slow3", "slow4"}, []string{"slow1@0s", "slow2@0s", "slow3@1s", "slow4@1s"}},
		"one at a time goes round":            {"1", []string{"slow1", "slow1", "slow2"}, []string{"slow1@0s", "slow1@2s", "slow2@1s"}},
		"an idle place is never left to wait": {"2", []string{"slow1", "slow1", "slow1", "fast"}, []string{"fast@0s", "slow1@0s", "slow1@1s", "slow1@2s"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &fake{name: "reporter", handle: slow}
			tr := parallelism(trigger("reporter", events.WorkApplied), tc.parallelism)
			inWorld(t, Options{}, []*fake{s}, []eventingv1.Trigger{tr}, func(w world) {
				for i, name := range tc.names { // of one binding, and never the same
					w.publish(tell(t, events.WorkApplied, name, inCluster(fmt.Sprint("m", i))))
				}
				w.idle()
				diff(t, "calls", tc.want, slices.Sorted(slices.Values(s.seen())))
			})
		})
	}
}

func TestASlowKeyHoldsUpNoOther(t *testing.T) {
	s := &fake{name: "scheduler", handle: slow}
	inWorld(t, Options{}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "slow"))
		synctest.Wait()
		w.publish(tell(t, events.BindingActivated, "slow"), tell(t, events.BindingActivated, "fast"))
		w.idle()
		diff(t, "calls", []string{"slow@0s", "fast@0s", "slow@1s"}, s.seen())
	})
}

func TestADeadMemberHoldsUpNoOther(t *testing.T) {
	s := &fake{name: "applier", handle: func(ctx context.Context, e event.Event) ([]event.Event, error) {
		if e.Extensions()[events.ExtCluster] == "m1" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, nil
	}}
	member := func(cluster string) eventingv1.Trigger {
		tr := parallelism(trigger("applier-"+cluster, events.WorkRendered), "1")
		tr.Spec.Filters = append(tr.Spec.Filters, eventingv1.SubscriptionsAPIFilter{Exact: map[string]string{"cluster": cluster}})
		return tr
	}
	inWorld(t, Options{}, []*fake{s}, []eventingv1.Trigger{member("m1"), member("m2")}, func(w world) {
		for _, name := range []string{"a", "b"} {
			w.publish(tell(t, events.WorkRendered, name, inCluster("m1")))
			synctest.Wait()
		}
		w.publish(tell(t, events.WorkRendered, "a", inCluster("m2")), tell(t, events.WorkRendered, "b", inCluster("m2")))
		synctest.Wait()
		diff(t, "m2", Stats{Counters: Counters{Handled: 2}}, w.Stats()["applier-m2"])
		diff(t, "m1", Stats{Queued: 1, Running: 1}, w.Stats()["applier-m1"])
	})
}

func TestWhatWaitsIsReplacedByNewer(t *testing.T) {
	var handled []string
	s := &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		handled = append(handled, e.ID())
		return slow(t.Context(), e)
	}}
	inWorld(t, Options{}, []*fake{s}, onActivated, func(w world) {
		first, last := tell(t, events.BindingActivated, "slow"), tell(t, events.BindingActivated, "slow")
		w.publish(first)
		synctest.Wait() // it runs, and is not replaced any more
		for range 100 {
			w.publish(tell(t, events.BindingActivated, "slow"))
		}
		w.publish(last)
		w.idle()
		diff(t, "handled", []string{first.ID(), last.ID()}, handled)
		diff(t, "stats", Stats{Counters: Counters{Handled: 2, Coalesced: 100}}, w.Stats()["scheduler"])
	})
}

func TestRetries(t *testing.T) {
	tests := map[string]struct {
		handle   func(context.Context, event.Event) ([]event.Event, error)
		retry    int32
		want     []string
		wantDead int
	}{
		"success at the third attempt": {failing(2), 5, []string{"a@0s", "a@100ms", "a@300ms"}, 0},
		"dead after the last retry":    {failing(9), 3, []string{"a@0s", "a@100ms", "a@300ms", "a@700ms"}, 1},
		"without retries dead at once": {failing(9), 0, []string{"a@0s"}, 1},
		"a stage that knows when decides": {func(context.Context, event.Event) ([]event.Event, error) {
			return nil, outcome.After(time.Minute, errOops)
		}, 1, []string{"a@0s", "a@1m0s"}, 1},
		"terminal is not tried again": {func(context.Context, event.Event) ([]event.Event, error) { return nil, outcome.Terminal(errOops) }, 5, []string{"a@0s"}, 1},
		"a panic is tried again":      {func(context.Context, event.Event) ([]event.Event, error) { panic("boom") }, 1, []string{"a@0s", "a@100ms"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &fake{name: "scheduler", handle: tc.handle}
			inWorld(t, Options{Delivery: delivery(tc.retry)}, []*fake{s}, onActivated, func(w world) {
				w.publish(tell(t, events.BindingActivated, "a"))
				w.idle()
				diff(t, "calls", tc.want, s.seen())
				diff(t, "dead letters", tc.wantDead, len(w.DeadLetters()))
			})
		})
	}
}

func TestARetryHoldsUpNothing(t *testing.T) {
	s := &fake{name: "reporter", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		if e.Extensions()[events.ExtCluster] == "m1" {
			return nil, errOops
		}
		return nil, nil
	}}
	inWorld(t, Options{Delivery: delivery(1)}, []*fake{s}, []eventingv1.Trigger{trigger("reporter", events.WorkApplied)}, func(w world) {
		w.publish(tell(t, events.WorkApplied, "a", inCluster("m1")))
		synctest.Wait()
		w.publish(tell(t, events.WorkApplied, "a", inCluster("m2")), tell(t, events.WorkApplied, "b"))
		if err := w.Quiet(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		diff(t, "quiet after", time.Duration(0), time.Since(s.start))
		diff(t, "stats", Stats{Counters: Counters{Handled: 2, Retried: 1}, Retrying: 1}, w.Stats()["reporter"])
		w.idle()
		diff(t, "idle after", 100*time.Millisecond, time.Since(s.start))
	})
}

func TestANewerEventSupersedesTheRetry(t *testing.T) {
	s := &fake{name: "scheduler", handle: failing(3)}
	inWorld(t, Options{Delivery: delivery(2)}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"))
		time.Sleep(250 * time.Millisecond) // the second retry is due at 300 ms
		w.publish(tell(t, events.BindingActivated, "a"))
		w.idle()
		// It starts at once, and with all its retries.
		diff(t, "calls", []string{"a@0s", "a@100ms", "a@250ms", "a@350ms"}, s.seen())
		diff(t, "dead letters", 0, len(w.DeadLetters()))
	})
}

func TestAnEventThatFailsWhileANewerWaitsIsNotRetried(t *testing.T) {
	s := &fake{name: "scheduler", handle: func(_ context.Context, e event.Event) ([]event.Event, error) {
		time.Sleep(time.Second)
		return nil, outcome.Terminal(errOops)
	}}
	inWorld(t, Options{Delivery: delivery(5)}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"))
		synctest.Wait()
		newer := tell(t, events.BindingActivated, "a")
		w.publish(newer)
		w.idle()
		dead := w.DeadLetters()
		if len(dead) != 1 || dead[0].Event.ID() != newer.ID() {
			t.Errorf("dead letters %v, want the newer event alone", dead)
		}
	})
}

func TestSourcesWaitWhileAQueueIsFull(t *testing.T) {
	s := &fake{name: "scheduler", handle: slow}
	tr := parallelism(trigger("scheduler", events.BindingActivated), "1")
	inWorld(t, Options{Capacity: 2}, []*fake{s}, []eventingv1.Trigger{tr}, func(w world) {
		w.publish(tell(t, events.BindingActivated, "slow1"))
		synctest.Wait() // it runs and is no part of the queue
		w.publish(tell(t, events.BindingActivated, "slow2"))
		diff(t, "waited", time.Duration(0), time.Since(s.start))
		w.publish(tell(t, events.BindingActivated, "slow3")) // the second in the queue
		diff(t, "waited", time.Second, time.Since(s.start))

		w.publish(tell(t, events.BindingActivated, "slow4"))
		diff(t, "waited", 2*time.Second, time.Since(s.start))
		ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := w.Publish(ctx, tell(t, events.BindingActivated, "slow5")); err != nil {
			t.Errorf("accepted although the source could not wait: got %v", err)
		}
		w.idle()
		diff(t, "calls", []string{"slow1@0s", "slow2@1s", "slow3@2s", "slow4@3s", "slow5@4s"}, s.seen())
	})
}

func TestAStageThatSpeaksToItselfNeverBlocks(t *testing.T) {
	s := &fake{name: "detector", handle: func(_ context.Context, e event.Event) (out []event.Event, _ error) {
		if nameOf(e) == "seed" {
			for _, name := range strings.Split(strings.Repeat("x", 99), "") {
				out = append(out, tell(t, events.TemplateTouched, name+string(rune('a'+len(out)))))
			}
		}
		return out, nil
	}}
	tr := parallelism(trigger("detector", events.TemplateTouched), "1")
	inWorld(t, Options{Capacity: 1}, []*fake{s}, []eventingv1.Trigger{tr}, func(w world) {
		w.publish(tell(t, events.TemplateTouched, "seed"))
		w.idle()
		diff(t, "calls", 100, len(s.seen()))
	})
}

func TestRunLetsRunningEventsFinish(t *testing.T) {
	var err error
	s := &fake{name: "scheduler", handle: func(ctx context.Context, e event.Event) ([]event.Event, error) {
		time.Sleep(time.Second)
		err = ctx.Err()
		return nil, nil
	}}
	tr := parallelism(trigger("scheduler", events.BindingActivated), "1")
	inWorld(t, Options{}, []*fake{s}, []eventingv1.Trigger{tr}, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"), tell(t, events.BindingActivated, "b"))
		synctest.Wait()
		w.stop()
		<-w.end
		diff(t, "ended after", time.Second, time.Since(s.start))
		diff(t, "calls", []string{"a@0s"}, s.seen())
		if err != nil {
			t.Errorf("the running event was cut off: %v", err)
		}
		if err := w.Publish(w.t.Context(), tell(t, events.BindingActivated, "c")); !errors.Is(err, ErrClosed) {
			t.Errorf("publish after the end: got %v, want %v", err, ErrClosed)
		}
		if err := w.Run(w.t.Context()); err == nil {
			t.Error("a second Run: got nil, want an error")
		}
	})
}

func TestRunCutsOffWhatHangs(t *testing.T) {
	s := &fake{name: "scheduler", handle: func(ctx context.Context, e event.Event) ([]event.Event, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	inWorld(t, Options{Grace: 3 * time.Second, Delivery: delivery(3)}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"))
		synctest.Wait()
		w.stop()
		<-w.end
		diff(t, "ended after", 3*time.Second, time.Since(s.start))
	})
}

func TestCloseDrains(t *testing.T) {
	gate := &fake{name: "gate", handle: func(ctx context.Context, e event.Event) ([]event.Event, error) {
		_, _ = slow(ctx, e)
		return []event.Event{tell(t, events.BindingActivated, nameOf(e))}, nil
	}}
	scheduler := &fake{name: "scheduler", handle: slow}
	triggers := append(onActivated, parallelism(trigger("gate", events.TemplateClaimed), "1"))
	inWorld(t, Options{}, []*fake{gate, scheduler}, triggers, func(w world) {
		w.publish(tell(t, events.TemplateClaimed, "slow1"), tell(t, events.TemplateClaimed, "slow2"))
		go func() {
			synctest.Wait()
			if err := w.Publish(w.t.Context(), tell(t, events.TemplateClaimed, "slow3")); !errors.Is(err, ErrClosed) {
				t.Errorf("publish while it is closed: got %v, want %v", err, ErrClosed)
			}
		}()
		if err := w.Close(w.t.Context()); err != nil {
			t.Error(err)
		}
		<-w.end
		diff(t, "calls", []string{"slow1@1s", "slow2@2s"}, scheduler.seen())
		if err := w.Close(w.t.Context()); err != nil {
			t.Errorf("close again: %v", err)
		}
	})
}

func TestEventsWaitUntilRun(t *testing.T) {
	s := &fake{name: "scheduler", start: time.Now()}
	b := New(Options{})
	b.Register(s)
	if err := b.AddTrigger(onActivated[0]); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), tell(t, events.BindingActivated, "a")); err != nil {
		t.Fatal(err)
	}
	diff(t, "stats", Stats{Queued: 1}, b.Stats()["scheduler"])
	ended := make(chan error)
	go func() {
		ended <- b.Run(function.WithLogger(t.Context(), slog.New(slog.DiscardHandler)))
	}()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	diff(t, "calls", 1, len(s.seen()))
}

func TestTriggersComeAndGo(t *testing.T) {
	s := &fake{name: "scheduler", handle: slow}
	tr := parallelism(trigger("scheduler", events.BindingActivated), "1")
	inWorld(t, Options{Delivery: delivery(5)}, []*fake{s}, nil, func(w world) {
		w.publish(tell(t, events.BindingActivated, "nobody"))
		w.idle()
		w.add(tr)
		w.publish(tell(t, events.BindingActivated, "slow1"), tell(t, events.BindingActivated, "slow2"))
		synctest.Wait()
		w.add(parallelism(tr, "2"))
		synctest.Wait()
		diff(t, "a change takes effect at once", []string{"slow1@0s", "slow2@0s"}, s.seen())
		w.publish(tell(t, events.BindingActivated, "slow3"))
		w.RemoveTrigger("scheduler")
		w.RemoveTrigger("scheduler")
		w.idle()
		w.publish(tell(t, events.BindingActivated, "nobody"))
		w.idle()
		diff(t, "what waited is gone", []string{"slow1@0s", "slow2@0s"}, s.seen())
		diff(t, "stats", map[string]Stats{}, w.Stats())
	})
}

func TestARemovedTriggerRetriesNothing(t *testing.T) {
	s := &fake{name: "scheduler", handle: failing(9)}
	inWorld(t, Options{Delivery: delivery(1)}, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "dead"))
		w.idle()
		w.publish(tell(t, events.BindingActivated, "retrying"))
		synctest.Wait()
		w.RemoveTrigger("scheduler")
		w.idle()
		diff(t, "calls", 3, len(s.seen()))
		diff(t, "dead letters", 0, len(w.DeadLetters()))
	})
}

func TestATriggerWithoutStageTakesNothing(t *testing.T) {
	inWorld(t, Options{Capacity: 1}, nil, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"), tell(t, events.BindingActivated, "b"))
		w.idle()
		s := &fake{name: "scheduler", start: time.Now()}
		w.Register(s)
		w.publish(tell(t, events.BindingActivated, "c"))
		w.idle()
		diff(t, "calls", []string{"c@0s"}, s.seen())
	})
}

func TestSourcesAreToldOfMalformedEvents(t *testing.T) {
	inWorld(t, Options{}, nil, nil, func(w world) {
		for name, e := range map[string]event.Event{"nothing at all": {}, "no type": event.New()} {
			if err := w.Publish(w.t.Context(), e); err == nil {
				t.Errorf("%s: got nil, want an error", name)
			}
		}
	})
}

func TestEveryEventIsObserved(t *testing.T) {
	var lines []string
	o := Options{Runner: function.Runner{Observe: func(l function.Line) {
		lines = append(lines, l.Stage+" "+l.Object+" "+string(l.Outcome)+" "+l.Reason)
	}}}
	s := &fake{name: "scheduler", handle: failing(1)}
	o.Delivery = delivery(1)
	inWorld(t, o, []*fake{s}, onActivated, func(w world) {
		w.publish(tell(t, events.BindingActivated, "a"))
		w.idle()
		diff(t, "lines", []string{"scheduler Deployment shop/a retry Error", "scheduler Deployment shop/a done "}, lines)
	})
}
