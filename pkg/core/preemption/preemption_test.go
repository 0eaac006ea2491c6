// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

func candidate(b fixture.PolicyBuilder) matching.Candidate {
	return matching.Candidate{Policy: b.Policy(), Named: true}
}

func TestEntitled(t *testing.T) {
	unnamed := candidate(fixture.Policy("high").Priority(2).Always())
	unnamed.Named = false
	low := fixture.Policy("low").Priority(1)
	for name, tc := range map[string]struct {
		c, holder matching.Candidate
		want      bool
	}{
		"a higher priority takes":                                   {candidate(fixture.Policy("high").Priority(2).Always()), candidate(low), true},
		"an equal one does not":                                     {candidate(fixture.Policy("high").Priority(1).Always()), candidate(low), false},
		"a lower one does not":                                      {candidate(fixture.Policy("high").Priority(0).Always()), candidate(low), false},
		"no priority is the priority 0":                             {candidate(fixture.Policy("high").Always()), candidate(fixture.Policy("low").Priority(-1)), true},
		"who never preempts does not":                               {candidate(fixture.Policy("high").Priority(2)), candidate(low), false},
		"who selects it by kind or label does not":                  {unnamed, candidate(low), false},
		"nobody takes from himself":                                 {candidate(low.Always()), candidate(low), false},
		"a namespaced policy takes from a cluster policy":           {candidate(fixture.Policy("high").Priority(-5).Always()), candidate(fixture.ClusterPolicy("low").Priority(9)), true},
		"a cluster policy never takes from a namespaced one":        {candidate(fixture.ClusterPolicy("high").Priority(9).Always()), candidate(low), false},
		"a cluster policy takes from one with a lower priority":     {candidate(fixture.ClusterPolicy("high").Priority(2).Always()), candidate(fixture.ClusterPolicy("low").Priority(1)), true},
		"that the holder would preempt himself does not matter":     {candidate(fixture.Policy("high").Priority(2).Always()), candidate(low.Always()), true},
		"a policy of the name in the other scope is another policy": {candidate(fixture.Policy("low").Always()), candidate(fixture.ClusterPolicy("low")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := preemption.Entitled(tc.c, tc.holder); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestChallengerIsTheBestOfThoseEntitled(t *testing.T) {
	holder := candidate(fixture.Policy("low").Priority(1))
	for name, tc := range map[string]struct {
		ranked []matching.Candidate
		want   string
	}{
		"nobody is there":             {nil, ""},
		"nobody is entitled":          {[]matching.Candidate{candidate(fixture.Policy("a").Priority(9)), holder}, ""},
		"the first that is, not all":  {[]matching.Candidate{candidate(fixture.Policy("a").Priority(9)), candidate(fixture.Policy("b").Priority(8).Always()), candidate(fixture.Policy("c").Priority(7).Always())}, "b"},
		"behind the holder it is too": {[]matching.Candidate{holder, candidate(fixture.Policy("b").Priority(8).Always())}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if c := preemption.Challenger(tc.ranked, holder); c != nil {
				got = c.Policy.Key.Name
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	selectors := []policyv1alpha1.ResourceSelector{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "other", Name: "a"},
		{APIVersion: "apps/v1", Kind: "Deployment"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "other", Name: "b"},
	}
	key := func(apiVersion, kind, namespace, name string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}
	for name, tc := range map[string]struct {
		p    fixture.PolicyBuilder
		want []propagation.TemplateKey
	}{
		"of a namespaced policy, in its own namespace": {fixture.Policy("p").Always().Selecting(selectors...), []propagation.TemplateKey{key("apps/v1", "Deployment", "shop", "a"), key("v1", "ConfigMap", "shop", "b")}},
		"of a cluster policy, where it says":           {fixture.ClusterPolicy("p").Always().Selecting(selectors...), []propagation.TemplateKey{key("apps/v1", "Deployment", "other", "a"), key("v1", "ConfigMap", "other", "b")}},
		"of one that never preempts, none":             {fixture.Policy("p").Selecting(selectors...), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, preemption.Named(tc.p.Policy())); d != "" {
				t.Errorf("named (-want +got):\n%s", d)
			}
		})
	}
}
