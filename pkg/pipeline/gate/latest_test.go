// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"slices"
	"testing"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// Who edits a policy whose changes wait, and then its template, asks for both at once. The
// watch of policies may tell of it after that of templates.
func TestL5WhatWasSaidOfAPolicyBeforeItsTemplateChangedTakesEffectWithIt(t *testing.T) {
	for name, tt := range map[string]struct {
		lazy, static bool
		// propagated before the policy is edited.
		propagated bool
	}{
		"Lazy, and propagated before":          {lazy: true, propagated: true},
		"Lazy, with the template's first form": {lazy: true},
		"StaticPolicy, and propagated before":  {static: true, propagated: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := func() time.Time { return fixture.Start }
			h := pipelinetest.NewHub(pipelinetest.Options{Now: now, Lag: true})
			h.SetFeatures(propagation.Features{Static: tt.static})
			key := fixture.Deployment("nginx").Template().Key
			put := func(replicas int64) {
				h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
			}
			say := func(cluster string) *propagation.Policy {
				p := fixture.Policy("p").To(cluster)
				if tt.lazy {
					p = p.Lazy()
				}
				policy := p.Policy()
				h.PutPolicy(policy.Key, policy.Spec)
				return h.LivePolicy(policy.Key)
			}
			s := gate.New(h, now)
			policy := say("m1")
			put(1)
			if _, err := h.CommitClaim(t.Context(), h.Live(key), policy.Claim(), ""); err != nil {
				t.Fatal(err)
			}
			h.Restart()
			if tt.propagated {
				if err := deliver(t.Context(), s, key, policy.Key); err != nil {
					t.Fatal(err)
				}
			}
			say("m2")
			put(2)
			for slices.Contains(h.Untold(), key.Kind) {
				h.Tell(key.Kind)
			}
			if err := deliver(t.Context(), s, key, policy.Key); err != nil {
				t.Fatal(err)
			}
			b := h.LiveBinding(propagation.BindingOf(key))
			if b == nil {
				t.Fatal("there is no binding")
			}
			if got := b.Spec.Placement.ClusterAffinity.ClusterNames; !slices.Equal(got, []string{"m2"}) {
				t.Errorf("the template's change took effect with the placement %v that was edited before, want m2", got)
			}
		})
	}
}
