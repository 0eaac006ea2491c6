// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package preemptor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/preemptor"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// index is the claim map: every policy may select everything.
type index struct {
	hub      *pipelinetest.Hub
	recorded []string
	fails    error
}

func (i *index) Look(context.Context, propagation.TemplateKey) (claims.View, error) {
	v := claims.View{Revision: 7}
	for _, p := range i.hub.LivePolicies() {
		v.Candidates = append(v.Candidates, claims.Candidate{Policy: p.Key})
	}
	return v, nil
}

func (*index) WentBack(context.Context, string) error { return nil }

func (i *index) Record(_ context.Context, _ propagation.TemplateKey, c propagation.Claim, _ propagation.Sighting, revision int64) error {
	if i.fails != nil {
		return i.fails
	}
	if revision != 7 {
		return errors.New("the view is another")
	}
	i.recorded = append(i.recorded, c.Policy.Name)
	return nil
}

// The preemptor takes a template from a living policy for one that is entitled to it
// now, whatever the event says: in the index first, then on the template.
func TestPreemptor(t *testing.T) {
	low := fixture.Policy("low").Priority(1)
	high := fixture.Policy("high").Priority(2).Always()
	refused := errors.New("the hub is not well")
	for name, tc := range map[string]struct {
		rival  fixture.PolicyBuilder
		gate   bool
		gone   bool // the template
		dark   bool // its kind is not served
		index  error
		hub    error
		holder string
		record []string
		told   []string
		emits  []string
		fails  bool
	}{
		"who is entitled takes it":                                              {rival: high, gate: true, holder: "high", record: []string{"high"}, told: []string{"PreemptPolicySucceed"}, emits: []string{events.ClaimPreempted}},
		"who is not entitled any more leaves it":                                {rival: high.Priority(1), gate: true, holder: "low", emits: []string{events.TemplateClaimed}},
		"who never preempts leaves it":                                          {rival: fixture.Policy("high").Priority(2), gate: true, holder: "low", emits: []string{events.TemplateClaimed}},
		"with the gate off nobody takes it":                                     {rival: high, holder: "low", emits: []string{events.TemplateClaimed}},
		"a template that is gone is nobody's":                                   {rival: high, gate: true, gone: true},
		"Z1: of a kind that is not served nobody can tell, and nobody takes it": {rival: high, gate: true, dark: true, holder: "low"},
		"what the index refuses does not happen":                                {rival: high, gate: true, index: refused, holder: "low", told: []string{"PreemptPolicyFailed"}, fails: true},
		"what the hub refuses is told":                                          {rival: high, gate: true, hub: refused, holder: "low", record: []string{"high"}, told: []string{"PreemptPolicyFailed"}, fails: true},
		"a race that was lost is tried again, and nobody is told":               {rival: high, gate: true, hub: outcome.Conflict(refused), holder: "low", record: []string{"high"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			h.SetFeatures(propagation.Features{Preemption: tc.gate})
			key := fixture.Deployment("nginx").Template().Key
			h.Apply(key, func(map[string]any) {})
			for _, p := range []fixture.PolicyBuilder{low, tc.rival} {
				h.PutPolicy(p.Policy().Key, p.Policy().Spec)
			}
			if _, err := h.CommitClaim(t.Context(), h.Live(key), h.LivePolicy(low.Policy().Key).Claim(), ""); err != nil {
				t.Fatal(err)
			}
			if tc.gone {
				h.Delete(key)
			}
			if tc.dark {
				h.Serve(key.GroupVersionKind().GroupKind())
			}
			var told, emits []string
			h.Recorded = func(_ hub.About, reason, message string) {
				for _, who := range []string{"low", "high"} {
					if !strings.Contains(message, "shop/"+who) {
						t.Errorf("%s says %q, and not who %s is", reason, message, who)
					}
				}
				told = append(told, reason)
			}
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if r.Writes() {
					return tc.hub
				}
				return nil
			}
			i := &index{hub: h, fails: tc.index}
			e, err := events.New("detector", event.Event{}, events.TemplateContested, events.Data{Template: &key, Policy: &propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "high"}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := preemptor.New(h, i).Handle(t.Context(), e)
			if (err != nil) != tc.fails || outcome.IsConflict(err) != outcome.IsConflict(tc.hub) {
				t.Errorf("it ends with %v", err)
			}
			for _, o := range out {
				emits = append(emits, o.Type())
			}
			holder := ""
			if live := h.Live(key); live != nil {
				holder = live.Claim.Policy.Name
			}
			for what, d := range map[string]string{
				"holder": cmp.Diff(tc.holder, holder), "index": cmp.Diff(tc.record, i.recorded), "told": cmp.Diff(tc.told, told), "events": cmp.Diff(tc.emits, emits),
			} {
				if d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
		})
	}
}
