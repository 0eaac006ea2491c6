// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletters_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/deadletters"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/redistest"
)

func letter(id, about string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetType("dev.sluice.work.rendered")
	e.SetSource("/sluice/renderer")
	e.SetSubject(about)
	e.SetExtension("cluster", "member1")
	e.SetExtension("knativeerrorcode", 503)
	e.SetExtension("knativebrokerttl", 0)
	_ = e.SetData(event.ApplicationJSON, map[string]string{"cluster": "member1"})
	return e
}

func TestADeadLetterIsKeptOnceUntilItIsDropped(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		l := deadletters.New(rdb)
		if _, err := l.Keep(t.Context(), letter("0", "a")); !errors.Is(err, outcome.ErrNotBuilt) {
			t.Errorf("keep before Redis was built: %v", err)
		}
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		for _, e := range []event.Event{letter("1", "a"), letter("2", "a"), letter("3", "b")} {
			if kept, err := l.Keep(t.Context(), e); !kept || err != nil {
				t.Fatalf("keep: %t, %v", kept, err)
			}
		}
		some, err := l.Some(t.Context(), 1)
		if len(some) != 1 || err != nil {
			t.Fatalf("%d, %v; want one", len(some), err)
		}
		all, err := l.Some(t.Context(), 10)
		if len(all) != 2 || err != nil {
			t.Fatalf("%d, %v; want two", len(all), err)
		}
		for _, e := range all {
			if e.Type() != "dev.sluice.work.rendered" || e.Extensions()["cluster"] != "member1" || string(e.Data()) != `{"cluster":"member1"}` {
				t.Errorf("it came back as another: %s", e)
			}
			if x := e.Extensions(); x["knativeerrorcode"] != nil || x["knativebrokerttl"] != nil {
				t.Errorf("it still says how it failed, or how far it may go: %s", e)
			}
		}
		if err := l.Drop(t.Context(), some); err != nil {
			t.Fatal(err)
		}
		if rest, err := l.Some(t.Context(), 10); len(rest) != 1 || err != nil || rest[0].Subject() == some[0].Subject() {
			t.Errorf("%v, %v; want the other one", rest, err)
		}
	})
}

func TestZ27EachDeadLetterHasItsTurn(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		l := deadletters.New(rdb)
		for i := range 1000 {
			if _, err := l.Keep(t.Context(), letter(fmt.Sprint(i), fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[string]bool{}
		for range 5 {
			some, err := l.Some(t.Context(), 200)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range some {
				seen[e.Subject()] = true
			}
		}
		if len(seen) != 1000 {
			t.Errorf("of 1000 letters %d had their turn in five rounds of 200", len(seen))
		}
	})
}

func TestNoMoreThanTheLimitAreKept(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		full := make(map[string]any, deadletters.Limit)
		for i := range deadletters.Limit {
			full[fmt.Sprint(i)] = "{}"
		}
		if err := rdb.HSet(t.Context(), schema.DeadLetters, full).Err(); err != nil {
			t.Fatal(err)
		}
		if kept, err := deadletters.New(rdb).Keep(t.Context(), letter("1", "a")); kept || err != nil {
			t.Errorf("kept: %t, %v; want not, and no error", kept, err)
		}
	})
}
