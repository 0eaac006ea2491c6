// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding that somebody deleted is made anew, and the process ends before it owns the
// content that the former left behind: who looks at it next adopts that, before the
// former takes it along.
func TestContentOfAFormerBindingIsAdopted(t *testing.T) {
	for name, tc := range map[string]struct{ edited bool }{
		"the template says the same":           {},
		"the template says something else now": {true},
	} {
		t.Run(name, func(t *testing.T) {
			now := func() time.Time { return fixture.Start }
			h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
			s := gate.New(h, now)
			key := fixture.Deployment("nginx").Template().Key
			put := func(replicas int64) {
				h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
			}
			put(1)
			spec := fixture.Policy("p").To("m1").Policy()
			h.PutPolicy(spec.Key, spec.Spec)
			policy := h.LivePolicy(spec.Key)
			if _, err := h.CommitClaim(t.Context(), h.Live(key), policy.Claim(), ""); err != nil {
				t.Fatal(err)
			}
			if err := deliver(t.Context(), s, key, policy.Key); err != nil {
				t.Fatal(err)
			}
			h.DropBinding(propagation.BindingOf(key))
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if r.Writes() && strings.HasPrefix(r.About, "revision") {
					return errCrash
				}
				return nil
			}
			if err := deliver(t.Context(), s, key, policy.Key); err == nil {
				t.Fatal("the process did not end where it had to")
			}
			h.Ask = nil
			if tc.edited {
				h.DropPolicy(spec.Key) // nobody acts on the edit
				put(2)
			}
			if err := deliver(t.Context(), s, key, policy.Key); err != nil {
				t.Fatal(err)
			}
			for _, g := range h.Garbage() {
				h.Collect(g)
			}
			b := h.LiveBinding(propagation.BindingOf(key))
			if _, err := h.Revision(t.Context(), b, b.Revision()); err != nil {
				t.Errorf("its content: %v", err)
			}
		})
	}
}
