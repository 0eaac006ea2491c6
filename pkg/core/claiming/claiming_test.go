// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claiming_test

import (
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

var (
	preempt = propagation.Features{Preemption: true}
	static  = propagation.Features{Static: true}
)

// acted is the binding that the policy's propagation of the template left.
func acted(t fixture.TemplateBuilder, p fixture.PolicyBuilder) *propagation.Binding {
	return gating.Decide(gating.Input{Template: t.ClaimedBy(p).Template(), Policy: p.Policy()}).Next
}

// What Sluice and others write of a template beside its content makes it no
// newer than a policy that came before that, as long as somebody saw it earlier.
func TestTheContentIsAsOldAsItWasSeen(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	lazy := claiming.Candidate{Policy: fixture.Policy("a").Lazy().At(5, 50).Policy()}
	for name, tc := range map[string]struct {
		seen, now fixture.TemplateBuilder
		waits     bool
	}{
		"L29 S6 a forged claim was released within the policy's second":    {seen: nginx.At(5, 49), now: nginx.At(5, 51), waits: true},
		"L11 L29 S7 a label of the system was written after the policy":    {seen: nginx.At(0, 20), now: nginx.At(9, 70), waits: true},
		"L28 the user changed it after the policy, within the same second": {seen: nginx.At(5, 49), now: nginx.Replicas(5).At(5, 51)},
		"L28 it was made anew after the policy":                            {seen: nginx.At(5, 49), now: nginx.UID("another").At(5, 51)},
		"L28 it was first seen after the policy":                           {seen: nginx.At(5, 51), now: nginx.At(5, 52)},
	} {
		t.Run(name, func(t *testing.T) {
			in := claiming.Input{Template: tc.now.Template(), Seen: propagation.Sighting{}.Of(tc.seen.Template()), Candidates: []claiming.Candidate{lazy}}
			if d := claiming.Decide(in); (d.Baseline != "") != tc.waits {
				t.Errorf("baseline %q, want one: %t", d.Baseline, tc.waits)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	p := fixture.Policy
	cp := fixture.ClusterPolicy
	for name, tc := range map[string]struct {
		template   fixture.TemplateBuilder
		policies   []fixture.PolicyBuilder
		binding    *propagation.Binding
		features   propagation.Features
		want       claiming.Verdict
		wantPolicy string
		wantBase   bool
	}{
		"nobody selects an unclaimed template: it waits":                               {template: nginx, want: claiming.Wait},
		"P5 the highest explicit priority claims":                                      {template: nginx, policies: []fixture.PolicyBuilder{p("a").Priority(1), p("b").Priority(2)}, want: claiming.Take, wantPolicy: "b"},
		"P1 a negative priority loses to the default":                                  {template: nginx, policies: []fixture.PolicyBuilder{p("a").Priority(-1), p("b")}, want: claiming.Take, wantPolicy: "b"},
		"P6 by name beats by labels":                                                   {template: nginx.Label("app", "nginx"), policies: []fixture.PolicyBuilder{p("a").Labelled("app", "nginx"), p("b")}, want: claiming.Take, wantPolicy: "b"},
		"P6 by labels beats by kind":                                                   {template: nginx.Label("app", "nginx"), policies: []fixture.PolicyBuilder{p("a").Kind(), p("b").Labelled("app", "nginx")}, want: claiming.Take, wantPolicy: "b"},
		"P7 the name that comes first wins a tie":                                      {template: nginx, policies: []fixture.PolicyBuilder{p("b"), p("a")}, want: claiming.Take, wantPolicy: "a"},
		"P8 a namespaced policy beats a cluster policy, whatever the numbers":          {template: nginx, policies: []fixture.PolicyBuilder{p("a").Priority(-10), cp("b").Priority(100)}, want: claiming.Take, wantPolicy: "a"},
		"P16 a namespaced policy never takes a cluster-scoped template":                {template: fixture.ClusterRole("nginx"), policies: []fixture.PolicyBuilder{p("a")}, want: claiming.Wait},
		"P9 a claim is kept from a later higher policy that is Never":                  {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(9)}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P19 a namespaced policy that is Never does not take from a cluster policy":    {template: nginx.ClaimedBy(cp("a")), policies: []fixture.PolicyBuilder{cp("a"), p("b")}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P3 with the gate closed Always takes nothing":                                 {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(9).Always()}, want: claiming.Keep, wantPolicy: "a"},
		"P10 a higher namespaced policy that is Always is entitled":                    {template: nginx.ClaimedBy(p("a").Priority(2)), policies: []fixture.PolicyBuilder{p("a").Priority(2), p("b").Priority(3).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "b"},
		"P11 P12 equal explicit priority does not preempt, whatever the selector":      {template: nginx.Label("app", "nginx").ClaimedBy(p("a").Labelled("app", "nginx")), policies: []fixture.PolicyBuilder{p("a").Labelled("app", "nginx"), p("b").Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P13 a lower policy that is Always takes nothing":                              {template: nginx.ClaimedBy(p("a").Priority(2)), policies: []fixture.PolicyBuilder{p("a").Priority(2), p("b").Priority(1).Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P14 a higher cluster policy takes from a cluster policy":                      {template: nginx.ClaimedBy(cp("a")), policies: []fixture.PolicyBuilder{cp("a"), cp("b").Named().Priority(1).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "b"},
		"P15 a namespaced policy takes from a cluster policy at any priority":          {template: nginx.ClaimedBy(cp("a").Priority(100)), policies: []fixture.PolicyBuilder{cp("a").Priority(100), p("b").Priority(-10).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "b"},
		"P17 a cluster policy never takes from a namespaced one":                       {template: nginx.ClaimedBy(p("a").Priority(-10)), policies: []fixture.PolicyBuilder{p("a").Priority(-10), cp("b").Named().Priority(100).Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P28 of several that are entitled the highest takes":                           {template: nginx.ClaimedBy(p("a").Priority(1)), policies: []fixture.PolicyBuilder{p("a").Priority(1), p("b").Priority(3).Always(), p("c").Priority(4).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "c"},
		"P24 P29 a holder that fell below an Always policy loses to it":                {template: nginx.ClaimedBy(p("a").Priority(3)), policies: []fixture.PolicyBuilder{p("a").Priority(3), p("b").Priority(4).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "b"},
		"P27 a holder that fell to an Always policy's priority keeps":                  {template: nginx.ClaimedBy(p("a").Priority(4)), policies: []fixture.PolicyBuilder{p("a").Priority(4), p("b").Priority(4).Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P34 an Always policy that selects by kind takes nothing":                      {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Kind().Priority(5).Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P35 an Always cluster policy without a namespace takes nothing":               {template: nginx.ClaimedBy(cp("a")), policies: []fixture.PolicyBuilder{cp("a"), cp("b").Priority(5).Always()}, features: preempt, want: claiming.Keep, wantPolicy: "a"},
		"P21 what a policy held that is gone is as unclaimed":                          {template: nginx.ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a")}, want: claiming.Take, wantPolicy: "a"},
		"P30 a preempting policy goes: the lower one follows":                          {template: nginx.ClaimedBy(p("high").Priority(9)), policies: []fixture.PolicyBuilder{p("low")}, features: preempt, want: claiming.Take, wantPolicy: "low"},
		"L32 the policy is gone and nobody follows: released":                          {template: nginx.ClaimedBy(p("gone")), want: claiming.Release},
		"L31 the policy no longer selects it and nobody follows: released":             {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a").Labelled("no", "such")}, want: claiming.Release},
		"L33 an immediate successor claims without a baseline":                         {template: nginx.ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a")}, want: claiming.Take, wantPolicy: "a"},
		"L34 L41 a Lazy successor claims and waits for a change":                       {template: nginx.ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a").Lazy()}, want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L55 what changed after a Lazy policy and before its takeover was told acts":   {template: nginx.Replicas(5).At(5, 50).ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, binding: acted(nginx, p("gone")), want: claiming.Take, wantPolicy: "a"},
		"L55 so does it for one that preempts":                                         {template: nginx.Replicas(5).At(5, 50).ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Lazy().Priority(2).Always().At(0, 10)}, binding: acted(nginx, p("a")), features: preempt, want: claiming.Contest, wantPolicy: "b"},
		"L55 so does it where nothing was ever propagated, since a Lazy policy waited": {template: nginx.ClaimedBy(p("gone")).Baseline().Replicas(5).At(5, 50), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, want: claiming.Take, wantPolicy: "a"},
		"L34 what still waits for its first change waits for a Lazy successor":         {template: nginx.ClaimedBy(p("gone")).Baseline().At(5, 50), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L34 what waited with its change for a Lazy policy waits for its successor":    {template: nginx.Replicas(5).At(5, 50).ClaimedBy(p("gone")).Baseline(), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, binding: acted(nginx, p("z")), want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L34 what changed before a Lazy successor was made waits":                      {template: nginx.Replicas(5).At(0, 10).ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a").Lazy().At(5, 50)}, binding: acted(nginx, p("gone")), want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L34 what did not change waits for a Lazy successor, however old that is":      {template: nginx.At(5, 50).ClaimedBy(p("gone")), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, binding: acted(nginx, p("gone")), want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L44 a Lazy policy that preempts waits for a change":                           {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Lazy().Priority(2).Always()}, features: preempt, want: claiming.Contest, wantPolicy: "b", wantBase: true},
		"L28 a Lazy policy that was first acts at once":                                {template: nginx.At(5, 50), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, want: claiming.Take, wantPolicy: "a"},
		"L29 L36 a Lazy policy that came second waits":                                 {template: nginx.At(0, 10), policies: []fixture.PolicyBuilder{p("a").Lazy().At(5, 50)}, want: claiming.Take, wantPolicy: "a", wantBase: true},
		"L28 within one second the versions tell who was first: the policy":            {template: nginx.At(0, 11), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 10)}, want: claiming.Take, wantPolicy: "a"},
		"L29 within one second the versions tell who was first: the template":          {template: nginx.At(0, 10), policies: []fixture.PolicyBuilder{p("a").Lazy().At(0, 11)}, want: claiming.Take, wantPolicy: "a", wantBase: true},
		"a policy that is being deleted is gone":                                       {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a").Deleting()}, want: claiming.Release},
		"a forged claim of a policy that does not select it is released":               {template: nginx.ClaimedBy(p("forged")), policies: []fixture.PolicyBuilder{p("forged").Labelled("no", "such")}, want: claiming.Release},

		"ST4 ST13 Static: what was never propagated is claimed at once":                     {template: nginx, policies: []fixture.PolicyBuilder{p("a")}, features: static, want: claiming.Take, wantPolicy: "a"},
		"ST6 ST15 Static: a higher policy takes nothing":                                    {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(2)}, binding: acted(nginx, p("a")), features: static, want: claiming.Keep, wantPolicy: "a"},
		"ST27 Static ignores preemption":                                                    {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(2).Always()}, binding: acted(nginx, p("a")), features: propagation.Features{Static: true, Preemption: true}, want: claiming.Keep, wantPolicy: "a"},
		"ST7 ST12 ST15 Static: the template's change elects the best":                       {template: nginx.Replicas(5).ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(2)}, binding: acted(nginx, p("a")), features: static, want: claiming.Take, wantPolicy: "b"},
		"ST8 Static: none is higher at a change: the holder keeps":                          {template: nginx.Replicas(5).ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a").Generation(2), p("b").Priority(-2)}, binding: acted(nginx, p("a")), features: static, want: claiming.Keep, wantPolicy: "a"},
		"ST17 ST18 Static: the holder no longer selects it: released, nobody follows":       {template: nginx.ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a").Labelled("no", "such"), p("b")}, binding: acted(nginx, p("a")), features: static, want: claiming.Release},
		"ST17 Static: what was released waits for its change":                               {template: nginx, policies: []fixture.PolicyBuilder{p("b")}, binding: acted(nginx, p("a")), features: static, want: claiming.Wait},
		"ST9 Static: changed and nobody selects it: released":                               {template: nginx.Replicas(5).ClaimedBy(p("gone")), binding: acted(nginx, p("gone")), features: static, want: claiming.Release},
		"ST19 Static: what changed while unclaimed is claimed at once":                      {template: nginx.Replicas(5), policies: []fixture.PolicyBuilder{p("b")}, binding: acted(nginx, p("a")), features: static, want: claiming.Take, wantPolicy: "b"},
		"ST6 Static: a change that elected a Lazy policy, which waits, elects no later one": {template: nginx.Replicas(5).ClaimedBy(p("a").Lazy()).Baseline(), policies: []fixture.PolicyBuilder{p("a").Lazy(), p("b").Priority(2)}, binding: acted(nginx, p("z")), features: static, want: claiming.Keep, wantPolicy: "a"},
		"ST12 Static: what waits for a Lazy policy, never propagated, elects at its change": {template: nginx.ClaimedBy(p("a").Lazy()).Baseline().Replicas(5), policies: []fixture.PolicyBuilder{p("a").Lazy(), p("b").Priority(2)}, features: static, want: claiming.Take, wantPolicy: "b"},
		"ST6 Static: until then no higher policy takes it":                                  {template: nginx.ClaimedBy(p("a").Lazy()).Baseline(), policies: []fixture.PolicyBuilder{p("a").Lazy(), p("b").Priority(2)}, features: static, want: claiming.Keep, wantPolicy: "a"},
		"ST38 Static: the change of a template that is going elects nobody":                 {template: nginx.Replicas(5).Deleting().ClaimedBy(p("a")), policies: []fixture.PolicyBuilder{p("a"), p("b").Priority(2)}, binding: acted(nginx, p("a")), features: static, want: claiming.Keep, wantPolicy: "a"},
		"Y4 a Lazy policy under Static waits for what was there before":                     {template: nginx.At(0, 10), policies: []fixture.PolicyBuilder{p("a").Lazy().At(5, 50)}, features: static, want: claiming.Take, wantPolicy: "a", wantBase: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := claiming.Input{Template: tc.template.Template(), Binding: tc.binding, Features: tc.features}
			for _, p := range tc.policies {
				in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p.Policy()})
			}
			got := claiming.Decide(in)
			name := ""
			if got.Policy != nil {
				name = got.Policy.Key.Name
			}
			if got.Verdict != tc.want || name != tc.wantPolicy || (got.Baseline != "") != tc.wantBase {
				t.Errorf("got %s by %q, baseline %q; want %s by %q, baseline %t (%s: %s)", got.Verdict, name, got.Baseline, tc.want, tc.wantPolicy, tc.wantBase, got.Reason, got.Message)
			}
			if got.Reason == "" || got.Message == "" {
				t.Errorf("no reason or message: %+v", got)
			}
		})
	}
}

// Who takes the role cluster-admin over takes it away, when the policy leaves a member out.
func TestWhatEachClusterMakesByItselfIsNoTemplate(t *testing.T) {
	all := fixture.ClusterPolicy("all").Selecting(policyv1alpha1.ResourceSelector{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"})
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		want     claiming.Reason
	}{
		"a role that somebody made":    {fixture.ClusterRole("admin"), claiming.BestMatch},
		"a role of Kubernetes' itself": {fixture.ClusterRole("admin").Label("kubernetes.io/bootstrapping", "rbac-defaults"), claiming.NeverTemplate},
	} {
		t.Run(name, func(t *testing.T) {
			d := claiming.Decide(claiming.Input{Template: tc.template.Template(), Candidates: []claiming.Candidate{{Policy: all.Policy()}}})
			if d.Reason != tc.want {
				t.Errorf("got %s (%s), want %s", d.Reason, d.Message, tc.want)
			}
		})
	}
}
