// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/test/pipelinetest/fixture"
)

// pagedHub is a crowded hub whose bindings come by pages, and which counts how many it
// has given.
type pagedHub struct {
	crowded
	given, lists int
}

func (l *pagedHub) Bindings(context.Context) ([]*propagation.Binding, error) {
	l.lists++
	return l.bindings, nil
}

func (l *pagedHub) ListBindings(_ context.Context, _ string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	some, next := fixture.Page(l.bindings, limit, cont)
	l.given += len(some)
	return some, next, nil
}

func (l *pagedHub) RemovingBindings(context.Context) ([]*propagation.Binding, error) { return nil, nil }

// TestAtRestASweepAsksForAPageOfBindings: and once it has had all of them, it has looked
// at each.
func TestAtRestASweepAsksForAPageOfBindings(t *testing.T) {
	const templates = 10_000
	l := &pagedHub{crowded: crowded{clusters: []string{"m1"}}}
	for i := range templates {
		l.add(fmt.Sprintf("t%05d", i), time.Hour, nil)
	}
	at, now := &memory{all: map[string]string{}}, noon
	probe := func(context.Context, string) (string, error) { return "", nil }
	sweep := func() {
		e := event.New()
		e.SetType(events.Ping)
		if _, err := New(l, built{}, at, probe, func() time.Time { return now }).paging(page.Size).Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	for range 2 { // the gates of which nobody knows since when they are so
		sweep()
	}
	l.lists = 0
	for range templates / page.Size {
		l.given = 0
		if sweep(); l.given != page.Size {
			t.Errorf("a sweep asks for %d bindings, want %d", l.given, page.Size)
		}
	}
	if l.lists > 0 {
		t.Errorf("all bindings are listed %d times", l.lists)
	}
}
