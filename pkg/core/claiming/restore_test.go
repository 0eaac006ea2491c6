// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claiming_test

import (
	"testing"

	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// Z9: what a template's owner takes off its metadata, or writes there, ends no claim.
func TestZ9ClaimIsRestored(t *testing.T) {
	nginx, holder, better := fixture.Deployment("nginx"), fixture.Policy("holder"), fixture.Policy("better").Priority(9)
	bound := acted(nginx, holder)
	lazy := fixture.Policy("holder").Lazy().At(9, 90)
	before, after := nginx.Replicas(5).At(5, 50), nginx.Replicas(5).At(20, 99) // what lazy says now
	taken := gating.Decide(gating.Input{Template: after.ClaimedBy(lazy).Baseline().Template(), Policy: lazy.Policy(), Binding: acted(nginx, better)}).Next
	released := gating.Decide(gating.Input{Template: nginx.Template(), Binding: acted(nginx, better)}).Next
	for sentence, tc := range map[string]struct {
		template   fixture.TemplateBuilder
		recorded   propagation.Claim
		binding    *propagation.Binding
		policies   []fixture.PolicyBuilder
		want       claiming.Verdict
		wantPolicy string
		wantBase   bool
	}{
		"the index and the binding know":          {nginx, holder.Policy().Claim(), bound, []fixture.PolicyBuilder{holder, better}, claiming.Take, "holder", false},
		"the binding alone knows":                 {nginx, propagation.Claim{}, bound, []fixture.PolicyBuilder{holder, better}, claiming.Take, "holder", false},
		"the index alone knows":                   {nginx, holder.Policy().Claim(), nil, []fixture.PolicyBuilder{holder, better}, claiming.Take, "holder", false},
		"it claims to be another's":               {nginx.ClaimedBy(better), holder.Policy().Claim(), bound, []fixture.PolicyBuilder{holder, better}, claiming.Take, "holder", false},
		"the preemptor is about to move it":       {nginx.ClaimedBy(holder), better.Policy().Claim(), bound, []fixture.PolicyBuilder{holder, better}, claiming.Keep, "holder", false},
		"the policy does not select it any more":  {nginx, holder.Policy().Claim(), bound, []fixture.PolicyBuilder{better}, claiming.Take, "better", false},
		"it was made anew":                        {nginx.UID("another"), propagation.Claim{}, bound, []fixture.PolicyBuilder{holder, better}, claiming.Take, "better", false},
		"nothing is known of it":                  {nginx, propagation.Claim{}, nil, []fixture.PolicyBuilder{holder, better}, claiming.Take, "better", false},
		"a Lazy policy that never acted waits on": {nginx, lazy.Policy().Claim(), nil, []fixture.PolicyBuilder{lazy, better}, claiming.Take, "holder", true},
		"a Lazy policy in force has no baseline":  {nginx, lazy.Policy().Claim(), acted(nginx, lazy), []fixture.PolicyBuilder{lazy, better}, claiming.Take, "holder", false},

		"a Lazy policy in force was released and selects it again: the change came after that":    {after, propagation.Claim{}, acted(nginx, lazy), []fixture.PolicyBuilder{lazy}, claiming.Take, "holder", false},
		"a Lazy policy in force was released and selects it again: the change came before":        {before, propagation.Claim{}, acted(nginx, lazy), []fixture.PolicyBuilder{lazy}, claiming.Take, "holder", true},
		"a Lazy policy that took it over waits on":                                                {after, lazy.Policy().Claim(), taken, []fixture.PolicyBuilder{lazy, better}, claiming.Take, "holder", true},
		"a Lazy policy follows one that is in force, and its claim got no further than the index": {nginx, lazy.Policy().Claim(), released, []fixture.PolicyBuilder{lazy}, claiming.Take, "holder", true},
		"a Lazy policy was first, and its claim got no further than the index":                    {after, lazy.Policy().Claim(), released, []fixture.PolicyBuilder{lazy}, claiming.Take, "holder", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := claiming.Input{Template: tc.template.Template(), Recorded: tc.recorded, Binding: tc.binding}
			in.Seen = propagation.Sighting{}.Of(in.Template)
			for _, p := range tc.policies {
				in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p.Policy()})
			}
			d := claiming.Decide(in)
			if d.Verdict != tc.want || d.Policy == nil || d.Policy.Key.Name != tc.wantPolicy || (d.Baseline != "") != tc.wantBase {
				t.Errorf("%s %v (%s), baseline %q; want %s %s", d.Verdict, d.Policy, d.Reason, d.Baseline, tc.want, tc.wantPolicy)
			}
		})
	}
}
