// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// written are the Works of a binding, with as many replicas in each cluster.
func written(b *propagation.Binding, replicas map[string]int) []*propagation.Work {
	var works []*propagation.Work
	for _, cluster := range []string{"member1", "member2", "member3"} {
		n, there := replicas[cluster]
		if !there {
			continue
		}
		w := &propagation.Work{
			Key: propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)},
			Annotations: map[string]string{
				propagation.AnnotationBindingNamespace: b.Key.Namespace, propagation.AnnotationBindingName: b.Key.Name,
				propagation.AnnotationTemplateUID: string(b.Spec.Resource.UID), propagation.AnnotationRevision: b.Revision(),
			},
		}
		if form := b.Annotations[propagation.AnnotationActiveForm]; form != "" {
			w.Annotations[propagation.AnnotationActiveForm] = form
		}
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)}}}
		works = append(works, w)
	}
	return works
}

func without(b *propagation.Binding, annotations ...string) *propagation.Binding {
	for _, a := range annotations {
		delete(b.Annotations, a)
	}
	return b
}

func hashed(b *propagation.Binding, hash string) *propagation.Binding {
	b.Annotations[propagation.AnnotationContentHash] = hash
	return b
}

func moved(b *propagation.Binding, to string) *propagation.Binding {
	b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{to}}}
	return b
}

func TestZ4WhatALostBindingHeldBackIsHeldBackStill(t *testing.T) {
	type works = []*propagation.Work
	var (
		nginx  = fixture.Deployment("nginx").Replicas(3)
		lazy   = fixture.Policy("p").Lazy().To("member1")
		eager  = fixture.Policy("p").To("member1")
		edited = lazy.To("member2").Generation(2)
		other  = fixture.Policy("q").Lazy().To("member2")
		static = propagation.Features{Static: true}
		one    = map[string]int{"member1": 3}
	)
	of := func(p fixture.PolicyBuilder, f propagation.Features) *propagation.Binding {
		return gating.Decide(gating.Input{Template: nginx.ClaimedBy(p).Template(), Policy: p.Policy(), Features: f}).Next
	}
	each := func(ws works, change func(*propagation.Work)) works {
		for _, w := range ws {
			change(w)
		}
		return ws
	}
	none := propagation.Features{}
	for sentence, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   fixture.PolicyBuilder
		binding  *propagation.Binding
		works    works
		features propagation.Features
		reason   gating.Reason
		pending  bool
		where    string
	}{
		"an edit of a Lazy policy waits":                        {template: nginx, policy: edited, works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"another Lazy policy waits":                             {template: nginx.Baseline(), policy: other, works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"so does a policy with the gate StaticPolicy":           {template: nginx, policy: eager.To("member2"), works: written(of(eager, static), one), features: static, reason: gating.StaticPolicy, pending: true, where: "member1"},
		"nothing waited, and nothing waits":                     {template: nginx, policy: lazy, works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, where: "member1"},
		"a policy that became Lazy with its edit waits":         {template: nginx, policy: edited, works: written(of(eager, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"the gate was switched on after the policy acted":       {template: nginx, policy: eager.To("member2"), works: written(of(eager, none), one), features: static, reason: gating.StaticPolicy, pending: true, where: "member1"},
		"somebody edited which policy acts":                     {template: nginx, policy: edited, binding: without(of(lazy, none), propagation.AnnotationActivePolicy, propagation.AnnotationActivePolicyID), works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"somebody edited which content acts":                    {template: nginx, policy: edited, binding: without(of(lazy, none), propagation.AnnotationContentHash), works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"or wrote another one's hash":                           {template: nginx, policy: edited, binding: hashed(of(lazy, none), "0"), works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"or edited the placement in force":                      {template: nginx, policy: edited, binding: moved(of(lazy, none), "member3"), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"the binding is there, and everything that it said not": {template: nginx, policy: edited, binding: &propagation.Binding{Key: of(lazy, none).Key}, works: written(of(lazy, none), one), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},

		"the template changed, and its change acts":             {template: nginx.Replicas(5), policy: edited, works: written(of(lazy, none), one), reason: gating.FirstPropagation, where: "member2"},
		"a policy that is not Lazy acts at once":                {template: nginx, policy: eager.To("member2"), works: written(of(eager, none), one), reason: gating.FirstPropagation, where: "member2"},
		"nothing was ever there":                                {template: nginx, policy: edited, reason: gating.FirstPropagation, where: "member2"},
		"the Works are a former template's":                     {template: nginx.UID("anew"), policy: edited, works: written(of(lazy, none), one), reason: gating.FirstPropagation, where: "member2"},
		"the Works are on their way out":                        {template: nginx, policy: edited, works: each(written(of(lazy, none), one), func(w *propagation.Work) { w.Deleting = true }), reason: gating.FirstPropagation, where: "member2"},
		"the Works are there because others refer to it":        {template: nginx, policy: edited, works: each(written(of(lazy, none), one), func(w *propagation.Work) { w.Annotations[propagation.AnnotationDependency] = "true" }), reason: gating.FirstPropagation, where: "member2"},
		"the Works are another binding's, by a name of 128 bit": {template: nginx, policy: edited, works: each(written(of(lazy, none), one), func(w *propagation.Work) { w.Annotations[propagation.AnnotationBindingName] = "x" }), reason: gating.FirstPropagation, where: "member2"},
		"a form that cannot be read is none":                    {template: nginx, policy: edited, works: each(written(of(lazy, none), one), func(w *propagation.Work) { w.Annotations[propagation.AnnotationActiveForm] = "{" }), reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := gating.Input{Template: tc.template.ClaimedBy(tc.policy).Template(), Policy: tc.policy.Policy(), Binding: tc.binding, Works: tc.works, Features: tc.features}
			got := gating.Decide(in)
			if got.Reason != tc.reason || got.Pending() != tc.pending || where(got.Next) != tc.where {
				t.Fatalf("got %s, pending %t, in %q (%s); want %s, %t, %q", got.Reason, got.Pending(), where(got.Next), got.Message, tc.reason, tc.pending, tc.where)
			}
			if got.Next.ActedHash() != in.Template.Hash || got.Next.Claim() != tc.policy.Policy().Claim() {
				t.Errorf("in force is %q, claimed by %v", got.Next.ActedHash(), got.Next.Claim())
			}
			in.Binding = got.Next
			if again := gating.Decide(in); again.Next != got.Next {
				t.Errorf("a second look changes it again:\n%s", cmp.Diff(got.Next, again.Next))
			}
		})
	}
}

func TestZ4ABindingIsRestoredAsItWas(t *testing.T) {
	nginx := fixture.Deployment("nginx").Replicas(3)
	full := fixture.Policy("p").Lazy().To("member1")
	was := full.Policy()
	was.Spec.PropagateDeps, was.Spec.ConflictResolution, was.Spec.PreserveResourcesOnDeletion = true, policyv1alpha1.ConflictOverwrite, ptr.To(true)
	before := gating.Decide(gating.Input{Template: nginx.ClaimedBy(full).Template(), Policy: was}).Next
	edited := full.To("member2").Generation(2)
	in := gating.Input{Template: nginx.ClaimedBy(edited).Template(), Policy: edited.Policy(), Works: written(before, map[string]int{"member1": 3})}
	after := gating.Decide(in).Next
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the binding before and after (-before +after):\n%s", d)
	}

	t.Run("from Works that do not tell the form: where they are, with their replicas", func(t *testing.T) {
		for sentence, tc := range map[string]struct {
			replicas map[string]int
			divided  bool
		}{
			"all in each":  {map[string]int{"member1": 3, "member3": 3}, false},
			"a share each": {map[string]int{"member1": 2, "member3": 1}, true},
			"all in one":   {map[string]int{"member1": 3}, false},
		} {
			works := written(before, tc.replicas)
			for _, w := range works {
				delete(w.Annotations, propagation.AnnotationActiveForm)
			}
			in.Works = works
			got := gating.Decide(in)
			p := got.Next.Spec.Placement
			if len(p.ClusterAffinity.ClusterNames) != len(tc.replicas) || propagation.Divided(p.ReplicaScheduling) != tc.divided {
				t.Errorf("%s: %+v", sentence, p)
			}
			if !got.Pending() || !strings.Contains(got.Message, "what members had of it") {
				t.Errorf("%s: pending %t: %s", sentence, got.Pending(), got.Message)
			}
		}
	})
}

// What is noted of the form costs no write: it changes with what acts, and with that alone.
func TestTheFormIsNotedOnlyWithWhatActs(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	lazy, eager := fixture.Policy("p").Lazy().To("member1"), fixture.Policy("p").To("member1")
	noted := func(b *propagation.Binding) string { return b.Annotations[propagation.AnnotationActiveForm] }
	decide := func(t fixture.TemplateBuilder, p fixture.PolicyBuilder, b *propagation.Binding, static bool) *propagation.Binding {
		return gating.Decide(gating.Input{Template: t.ClaimedBy(p).Template(), Policy: p.Policy(), Binding: b, Features: propagation.Features{Static: static}}).Next
	}
	first := decide(nginx, lazy, nil, false)
	var f gating.Form
	if err := json.Unmarshal([]byte(noted(first)), &f); err != nil || f.Policy != lazy.Policy().Key || f.Spec.Placement.ClusterAffinity.ClusterNames[0] != "member1" {
		t.Fatalf("noted: %q, %v", noted(first), err)
	}
	if next := decide(nginx, eager, first, false); next != first {
		t.Error("a policy that is no longer Lazy and says the same changes the binding")
	}
	if next := decide(nginx, eager.To("member2"), first, false); noted(next) != "" || where(next) != "member2" {
		t.Errorf("a policy that acts at once leaves %q", noted(next))
	}
	plain := decide(nginx, eager, nil, false)
	if noted(plain) != "" {
		t.Errorf("a policy that acts at once is noted: %s", noted(plain))
	}
	for name, static := range map[string]bool{"it became Lazy": false, "the gate was switched on": true} {
		p := lazy
		if static {
			p = eager
		}
		if next := decide(nginx, p, plain, static); next != plain {
			t.Errorf("%s: the binding changes", name)
		}
		if next := decide(nginx.Replicas(9), p, plain, static); noted(next) == "" {
			t.Errorf("%s: the template changes, and its form is not noted", name)
		}
	}
	large := lazy.To(strings.Split(strings.Repeat("a-member-of-a-long-name,", 2000), ",")...)
	if next := decide(nginx, large, nil, false); noted(next) != "" || len(next.Spec.Placement.ClusterAffinity.ClusterNames) < 2000 {
		t.Errorf("%d bytes are noted", len(noted(next)))
	}
	required := &propagation.Binding{Annotations: map[string]string{}}
	required.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: fixture.Namespace, Name: "parent"}}
	if next := gating.Decide(gating.Input{Template: nginx.Template(), Binding: required}).Next; noted(next) != "" {
		t.Errorf("a dependency is noted: %s", noted(next))
	}
}
