// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// linger is for how long a kind is followed that nobody selects any more.
const linger = 24 * time.Hour

// Who has just started does not know what was selected a minute ago.
func TestWhatSourcesWatchIsLeftAloneAtFirst(t *testing.T) {
	now := time.Unix(0, 0)
	h := &hubOf{changes: map[string]hub.Changes{"": {Until: "9"}, "9": {Until: "9"}}}
	sources := &labelled{}
	publish := func(context.Context, []event.Event) error { return nil }
	r := replay.New(h, indexOf{}, &memory{all: map[string]string{}}, sources, publish, func() time.Time { return now })
	for _, tc := range []struct {
		after time.Duration
		keep  bool
	}{{0, true}, {linger - time.Second, true}, {linger, false}, {2 * linger, false}} {
		now = time.Unix(0, 0).Add(tc.after)
		if _, err := r.Find(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sources.keep != tc.keep || len(sources.kinds) != 1 {
			t.Errorf("after %s: keep %v, want %v; kinds %v", tc.after, sources.keep, tc.keep, sources.kinds)
		}
	}
}

// TestZ32KindsThatTakeTurns: each change of what sources watch restarts them for all. A
// policy that selects one kind after the other causes that once for each, and not anew.
func TestZ32KindsThatTakeTurns(t *testing.T) {
	now := noon
	h := &hubOf{changes: map[string]hub.Changes{"": {Until: "9"}, "9": {Until: "9"}}}
	sources := &labelled{}
	publish := func(context.Context, []event.Event) error { return nil }
	r := replay.New(h, indexOf{}, &memory{all: map[string]string{}}, sources, publish, func() time.Time { return now })
	kinds, restarts := []string{"ConfigMap", "Service", "ServiceAccount"}, 0
	for i := range 300 {
		before := sources.kinds
		h.selects = kinds[i%len(kinds)]
		if _, err := r.Find(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, sources.kinds) {
			restarts++
		}
		now = now.Add(15 * time.Minute)
	}
	if restarts != len(kinds) {
		t.Errorf("%d restarts in three days, want one for each of %d kinds", restarts, len(kinds))
	}
}
