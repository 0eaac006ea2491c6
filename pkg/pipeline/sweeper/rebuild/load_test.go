// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice.dev/pkg/pipeline/sweeper/rebuild"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
	"sluice.dev/test/redistest"
)

var errAway = errors.New("the time is over")

// TestARebuildOfManyTemplatesComesToItsEnd: one that is broken off after a few pages,
// again and again, as by the deadline of its event, lists each page once.
func TestARebuildOfManyTemplatesComesToItsEnd(t *testing.T) {
	const templates, pages, perEvent = 1001, 3, 1
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	p := fixture.Policy("p").Kind().Policy()
	h.PutPolicy(p.Key, p.Spec)
	for i := range templates {
		h.Apply(fixture.Deployment(fmt.Sprintf("d%04d", i)).Template().Key, func(map[string]any) {})
	}
	lists, left := 0, 0
	h.Ask = func(_ context.Context, r pipelinetest.Request) error {
		if r.Verb == "list" && r.About == "Deployment" {
			if left--; left < 0 {
				return errAway
			}
			lists++
		}
		return nil
	}
	index := claims.New(redistest.Embedded(t).Client(t))
	s := rebuild.New(h, index, nil)
	events := 0
	for err := errAway; err != nil; events++ {
		if events > 2*pages {
			t.Fatalf("not built after %d events, %d pages listed", events, lists)
		}
		left = perEvent
		if err = s.Rebuild(t.Context()); err != nil && !errors.Is(err, errAway) {
			t.Fatal(err)
		}
	}
	if events != 3 || lists != pages {
		t.Errorf("%d events, %d pages; want 3, %d", events, lists, pages)
	}
	for _, name := range []string{"d0000", "d0600", "d1000"} {
		v, err := index.Look(t.Context(), fixture.Deployment(name).Template().Key)
		if err != nil || !v.Parked || len(v.Candidates) != 1 {
			t.Errorf("%s: %+v, %v; want it waiting, with a candidate", name, v, err)
		}
	}
}
