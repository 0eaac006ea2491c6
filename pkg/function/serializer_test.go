// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/core/propagation"
)

// about is an event of a type about the template of that name.
func about(t *testing.T, eventType, name string) event.Event {
	t.Helper()
	template := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	policy := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"}
	e, err := events.New("test", event.Event{}, eventType, events.Data{Template: &template, Policy: &policy})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// crowd sends events to a serializer, and goes on with one handling at a time.
type crowd struct {
	t          *testing.T
	serializer serializer
	mu         sync.Mutex
	begun      []string    // what is handled, in the order of its beginning
	proceed    chan Result // ends a handling
	results    map[string]string
	covers     func(ctx context.Context) // is told of each handling
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, serializer: serializer{lanes: map[string]*lane{}}, proceed: make(chan Result), results: map[string]string{}}
}

// comes has an event arrive, and waits until it is handled or waits.
func (c *crowd) comes(ctx context.Context, who string, e event.Event) {
	go func() {
		res := c.serializer.do(ctx, coalesce.Lane(e), e, func(ctx context.Context) Result {
			c.mu.Lock()
			c.begun = append(c.begun, who)
			if c.covers != nil {
				c.covers(ctx)
			}
			c.mu.Unlock()
			return <-c.proceed
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.results[who] = fmt.Sprintf("%s %s", res.Outcome, res.Reason)
	}()
	synctest.Wait()
}

func (c *crowd) ends(res Result) {
	c.proceed <- res
	synctest.Wait()
}

func (c *crowd) want(begun []string, results map[string]string) {
	c.t.Helper()
	if d := cmp.Diff(begun, c.begun); d != "" {
		c.t.Errorf("handled (-want +got)\n%s", d)
	}
	if d := cmp.Diff(results, c.results); d != "" {
		c.t.Errorf("ended (-want +got)\n%s", d)
	}
}

var done = Result{Outcome: Done, Reason: "Handled"}

func TestEventsOfOneLaneTakeTurnsAndOthersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.comes(t.Context(), "claimed", about(t, events.TemplateClaimed, "a"))
		c.comes(t.Context(), "released", about(t, events.TemplateReleased, "a"))
		c.comes(t.Context(), "other", about(t, events.TemplateClaimed, "b"))
		c.want([]string{"claimed", "other"}, map[string]string{})
		c.ends(done)
		c.ends(done)
		c.want([]string{"claimed", "other", "released"}, map[string]string{"claimed": "done Handled", "other": "done Handled"})
		c.ends(done)
		if len(c.serializer.lanes) != 0 {
			t.Errorf("%d lanes stay", len(c.serializer.lanes))
		}
	})
}

func TestOfEventsThatTellTheSameOneIsHandledForAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for _, who := range []string{"first", "second", "third", "fourth"} {
			c.comes(t.Context(), who, about(t, events.TemplateClaimed, "a"))
		}
		c.want([]string{"first"}, map[string]string{})
		c.ends(done)
		c.want([]string{"first", "second"}, map[string]string{"first": "done Handled"})
		c.comes(t.Context(), "late", about(t, events.TemplateClaimed, "a"))
		c.ends(done)
		c.ends(done)
		c.want([]string{"first", "second", "late"}, map[string]string{
			"first": "done Handled", "second": "done Handled", "third": "done Covered", "fourth": "done Covered", "late": "done Handled",
		})
	})
}

func TestAHandlingKnowsWhichEventsItIsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		var got []string
		c.covers = func(ctx context.Context) {
			var ids string
			for _, id := range []string{"under way", "second", "third", "late"} {
				if coalesce.Covers(ctx, id) {
					ids += id + ";"
				}
			}
			got = append(got, ids)
		}
		come := func(who string) {
			e := about(t, events.TemplateClaimed, "a")
			e.SetID(who)
			c.comes(t.Context(), who, e)
		}
		come("under way")
		come("second")
		come("third")
		c.ends(done)
		come("late")
		c.ends(done)
		c.ends(done)
		if d := cmp.Diff([]string{"under way;", "second;third;", "late;"}, got); d != "" {
			t.Errorf("the handlings are for (-want +got)\n%s", d)
		}
	})
}

func TestAnEventOfAnotherSourceIsNotCovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		again := about(t, events.TemplateClaimed, "a")
		again.SetSource("/sluice/sweeper") // which may be taken otherwise than what a source tells
		c.comes(t.Context(), "under way", about(t, events.TemplateClaimed, "a"))
		c.comes(t.Context(), "told", about(t, events.TemplateClaimed, "a"))
		c.comes(t.Context(), "again", again)
		for range 3 {
			c.ends(done)
		}
		c.want([]string{"under way", "told", "again"}, map[string]string{"under way": "done Handled", "told": "done Handled", "again": "done Handled"})
	})
}

// Z33: extensions that are the same hide no other data: whoever forges them has the
// real event not covered by what he sends.
func TestZ33AForgedEventCoversNoRealOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		real, forged := about(t, events.TemplateClaimed, "a"), about(t, events.TemplateClaimed, "a")
		if err := forged.SetData(event.ApplicationJSON, about(t, events.TemplateClaimed, "b").Data()); err != nil {
			t.Fatal(err)
		}
		c.comes(t.Context(), "first", real)
		c.comes(t.Context(), "forged", forged)
		c.comes(t.Context(), "real", real)
		for range 3 {
			c.ends(done)
		}
		c.want([]string{"first", "forged", "real"}, map[string]string{"first": "done Handled", "forged": "done Handled", "real": "done Handled"})
	})
}

func TestWhatCanNeverSucceedCoversNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for _, who := range []string{"under way", "fails", "second", "third"} {
			c.comes(t.Context(), who, about(t, events.TemplateClaimed, "a"))
		}
		c.ends(done)
		c.ends(Result{Outcome: Terminal, Err: errors.New("malformed")})
		for len(c.results) < 4 {
			c.ends(done)
		}
		ends := map[bool]int{}
		for _, r := range c.results {
			ends[strings.HasPrefix(r, string(Done))]++
		}
		if d := cmp.Diff(map[bool]int{true: 3, false: 1}, ends); d != "" {
			t.Errorf("ended well (-want +got)\n%s\n%v", d, c.results)
		}
	})
}

func TestWhatHasToBeTriedAgainHasAllTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for _, who := range []string{"under way", "second", "third"} {
			c.comes(t.Context(), who, about(t, events.TemplateClaimed, "a"))
		}
		c.ends(done)
		c.ends(Result{Outcome: Retry, Reason: ReasonTimeout, Err: errors.New("the member is down")})
		c.want([]string{"under way", "second"}, map[string]string{"under way": "done Handled", "second": "retry Timeout", "third": "retry Timeout"})
	})
}

func TestWhoGoesAwayTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		ctx, leave := context.WithCancel(t.Context())
		c.comes(t.Context(), "under way", about(t, events.TemplateClaimed, "a"))
		c.comes(ctx, "leaves", about(t, events.TemplateClaimed, "a"))
		c.comes(t.Context(), "stays", about(t, events.TemplateClaimed, "a"))
		leave()
		synctest.Wait()
		c.want([]string{"under way"}, map[string]string{"leaves": "retry Error"})
		c.ends(done)
		c.ends(done)
		c.want([]string{"under way", "stays"}, map[string]string{"under way": "done Handled", "leaves": "retry Error", "stays": "done Handled"})
	})
}
