// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"maps"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// TestAnUpdateOfSluiceSpreadsNothingAnew: a placement that came into force while Sluice
// left its regions alone is spread by them when another comes into force, and not before.
func TestAnUpdateOfSluiceSpreadsNothingAnew(t *testing.T) {
	byRegion := func(p fixture.PolicyBuilder, most int) *propagation.Policy {
		return p.Spreading(policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldRegion, MinGroups: 1, MaxGroups: most}).Policy()
	}
	eager, lazy := fixture.Policy("p").To("member1"), fixture.Policy("p").To("member1").Lazy()
	nginx, changed := fixture.Deployment("nginx").Replicas(3), fixture.Deployment("nginx").Replicas(4)
	before := func(policy *propagation.Policy) *propagation.Binding {
		b := *gating.Decide(gating.Input{Template: nginx.ClaimedBy(eager).Template(), Policy: policy}).Next
		b.Annotations = maps.Clone(b.Annotations)
		delete(b.Annotations, propagation.AnnotationSpreadsByGroup)
		return &b
	}
	old := before(byRegion(eager, 1))
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   *propagation.Policy
		binding  *propagation.Binding
		want     bool
	}{
		"what was never propagated is spread":                      {template: nginx, policy: byRegion(eager, 1), want: true},
		"what is in force is not, with nothing changed":            {template: nginx, policy: byRegion(eager, 1), binding: old},
		"nor with another content":                                 {template: changed, policy: byRegion(eager, 1), binding: old},
		"it is with another placement":                             {template: nginx, policy: byRegion(eager, 2), binding: old, want: true},
		"but not while a Lazy policy waits":                        {template: nginx, policy: byRegion(lazy, 2), binding: old},
		"and with what the Lazy policy waits for":                  {template: changed, policy: byRegion(lazy, 2), binding: old, want: true},
		"a placement that gets its first constraint is spread":     {template: nginx, policy: byRegion(eager, 1), binding: before(eager.Policy()), want: true},
		"one without such a constraint says nothing of it":         {template: nginx, policy: eager.Policy(), binding: old},
		"one that spreads already goes on, with another content":   {template: changed, policy: byRegion(eager, 1), binding: gating.Decide(gating.Input{Template: nginx.ClaimedBy(eager).Template(), Policy: byRegion(eager, 1)}).Next, want: true},
		"one that spreads already ends it with its constraint":     {template: nginx, policy: eager.Policy(), binding: gating.Decide(gating.Input{Template: nginx.ClaimedBy(eager).Template(), Policy: byRegion(eager, 1)}).Next},
		"a binding of which the placement was taken off is spread": {template: nginx, policy: byRegion(eager, 1), binding: func() *propagation.Binding { b := *old; b.Spec.Placement = nil; return &b }(), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			next := gating.Decide(gating.Input{Template: tc.template.ClaimedBy(eager).Template(), Policy: tc.policy, Binding: tc.binding}).Next
			if got := len(next.GroupConstraints()) > 0; got != tc.want {
				t.Errorf("spreads by group: %v, want %v", got, tc.want)
			}
			if later := !tc.want && next.Spec.Placement != nil && len(next.Spec.Placement.SpreadConstraints) > 0; next.SpreadsLater() != later {
				t.Errorf("spreads later: %v, want %v", next.SpreadsLater(), later)
			}
		})
	}
	if in := (gating.Input{Template: nginx.ClaimedBy(eager).Template(), Policy: byRegion(eager, 1), Binding: old}); gating.Decide(in).Next != old {
		t.Error("an update of Sluice writes to a binding of which nothing changes")
	}
}
