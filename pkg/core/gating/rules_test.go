// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// counting is what is known where a rule of the kind's owner says how many run.
func counting(n int32, err error) kinds.Table {
	return kinds.NewTable(map[schema.GroupKind]kinds.Own{{Group: "apps", Kind: "Deployment"}: {
		Replicas: func(map[string]any) (int32, error) { return n, err },
	}})
}

func TestReplicasAsARuleCountsThem(t *testing.T) {
	failed := errors.New("spec.rules.replicas.expression: no such key")
	nginx, p := fixture.Deployment("nginx").Replicas(3), fixture.Policy("p").To("member1")
	changed := fixture.Deployment("nginx").Replicas(4)
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		lazy     bool
		first    bool // nothing was propagated before
		known    kinds.Table
		verdict  gating.Verdict
		reason   gating.Reason
		replicas int32
	}{
		"as Sluice knows, without rules":               {template: changed, verdict: gating.Open, reason: gating.Immediate, replicas: 4},
		"as the rule says":                             {template: nginx, first: true, known: counting(7, nil), verdict: gating.Open, reason: gating.FirstPropagation, replicas: 7},
		"as a rule says that is new":                   {template: nginx, known: counting(7, nil), verdict: gating.Open, reason: gating.Immediate, replicas: 7},
		"under a Lazy policy with the next change":     {template: nginx, lazy: true, known: counting(7, nil), verdict: gating.Closed, reason: gating.WaitingForTemplateChange, replicas: 3},
		"where it fails, nothing goes out":             {template: nginx, first: true, known: counting(0, failed), verdict: gating.Closed, reason: gating.RuleFailed},
		"where it fails, what changed waits":           {template: changed, known: counting(0, failed), verdict: gating.Closed, reason: gating.RuleFailed, replicas: 3},
		"where it fails, what is in force is as it is": {template: nginx, known: counting(0, failed), verdict: gating.Open, reason: gating.Immediate, replicas: 3},
	} {
		t.Run(name, func(t *testing.T) {
			policy := p
			if tc.lazy {
				policy = p.Lazy()
			}
			in := gating.Input{Template: tc.template.ClaimedBy(policy).Template(), Policy: policy.Policy(), Kinds: tc.known}
			if !tc.first {
				in.Binding = after(nginx, policy)
			}
			d := gating.Decide(in)
			if d.Verdict != tc.verdict || d.Reason != tc.reason || d.Next.Spec.Replicas != tc.replicas {
				t.Errorf("%s, %s, %d replicas; want %s, %s, %d", d.Verdict, d.Reason, d.Next.Spec.Replicas, tc.verdict, tc.reason, tc.replicas)
			}
			if tc.reason == gating.RuleFailed && (!strings.Contains(d.Message, failed.Error()) || !d.Pending()) {
				t.Errorf("it says %q, pending %v", d.Message, d.Pending())
			}
			if again := gating.Decide(gating.Input{Template: in.Template, Policy: in.Policy, Binding: d.Next, Kinds: in.Kinds}); again.Next != d.Next {
				t.Error("asked again, it changes something")
			}
		})
	}
}

// Where nobody knows the rules any more, and nobody took them back, nothing is let through,
// and the binding goes on saying whose rules it is bound by.
func TestZ11NothingIsLetThroughWhileNobodyKnowsTheRules(t *testing.T) {
	nginx, p := fixture.Deployment("nginx").Replicas(3), fixture.Policy("p").To("member1")
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	known := kinds.NewTable(map[schema.GroupKind]kinds.Own{deployments: {By: "deployments/made"}})
	unknown := kinds.NewTable(map[schema.GroupKind]kinds.Own{deployments: kinds.Undefined("deployments/made", errors.New("it went with its definition"))})
	bound := gating.Decide(gating.Input{Template: nginx.ClaimedBy(p).Template(), Policy: p.Policy(), Binding: after(nginx, p), Kinds: known}).Next
	if by := bound.Annotations[propagation.AnnotationInterpreter]; by != "deployments/made" {
		t.Fatalf("the binding says it is bound by %q", by)
	}
	for sentence, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   fixture.PolicyBuilder
		pending  bool
	}{
		"what is in force stays":              {template: nginx, policy: p},
		"a change of the template waits":      {template: fixture.Deployment("nginx").Replicas(4), policy: p, pending: true},
		"a change of the policy waits":        {template: nginx, policy: fixture.Policy("p").To("member2"), pending: true},
		"a change of a Lazy policy waits":     {template: nginx, policy: p.Lazy()},
		"so do both of them":                  {template: fixture.Deployment("nginx").Replicas(4), policy: fixture.Policy("p").To("member2").Lazy(), pending: true},
		"a suspension does not wait for that": {template: nginx, policy: p.Suspending()},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := gating.Input{Template: tc.template.ClaimedBy(tc.policy).Template(), Policy: tc.policy.Policy(), Binding: bound, Kinds: unknown}
			d := gating.Decide(in)
			if d.Verdict != gating.Closed || d.Reason != gating.RuleFailed || d.Pending() != tc.pending {
				t.Fatalf("%s, %s, pending: %t; want %s, %s, %t", d.Verdict, d.Reason, d.Pending(), gating.Closed, gating.RuleFailed, tc.pending)
			}
			if d.Pending() && !strings.Contains(d.Message, "it went with its definition") {
				t.Errorf("it says %q", d.Message)
			}
			all, _ := in.Policy.Spec.Suspension.Dispatch()
			if held, _ := d.Next.Spec.Suspension.Dispatch(); held != all {
				t.Errorf("suspended: %t, want %t", held, all)
			}
			if d.Next.Annotations[propagation.AnnotationInterpreter] != "deployments/made" || d.Next.Spec.Replicas != 3 || d.Next.Spec.Placement.ClusterAffinity.ClusterNames[0] != "member1" || d.Next.ActedHash() != bound.ActedHash() {
				t.Errorf("the binding becomes %+v", d.Next)
			}
			in.Kinds = known
			if again := gating.Decide(in); tc.pending && tc.policy.Policy().Spec.ActivationPreference == "" && again.Verdict != gating.Open {
				t.Errorf("when the rules are made again: %s, %s", again.Verdict, again.Reason)
			}
		})
	}
	somebody := gating.Decide(gating.Input{Template: nginx.ClaimedBy(p).Template(), Policy: p.Policy(), Binding: bound})
	if by, is := somebody.Next.Annotations[propagation.AnnotationInterpreter]; is {
		t.Errorf("somebody deleted the rules, and the binding says it is bound by %q", by)
	}
}

func TestWhatSomebodyMayRelease(t *testing.T) {
	for reason, want := range map[gating.Reason]bool{
		gating.WaitingForTemplateChange: true, gating.StaticPolicy: true,
		gating.TooLarge: false, gating.RuleFailed: false, gating.NameTaken: false, gating.TemplateDeleting: false, gating.NoPolicy: false,
	} {
		if got := (gating.Decision{Verdict: gating.Closed, Reason: reason, PolicyPending: true}).Releasable(); got != want {
			t.Errorf("%s: %t, want %t", reason, got, want)
		}
	}
	if (gating.Decision{Verdict: gating.Closed, Reason: gating.WaitingForTemplateChange}).Releasable() {
		t.Error("where nothing waits there is nothing to release")
	}
}
