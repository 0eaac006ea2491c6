// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// TestTheBindingSaysWhatAReplicaRequests, with the content that is in force, where its
// replicas are divided by room, and nowhere else.
func TestTheBindingSaysWhatAReplicaRequests(t *testing.T) {
	nginx := func(cpu string) fixture.TemplateBuilder {
		requests := map[string]any{}
		if cpu != "" {
			requests["cpu"] = cpu
		}
		container := map[string]any{"name": "nginx", "resources": map[string]any{"requests": requests}}
		return fixture.Deployment("nginx").Spec("template", map[string]any{"spec": map[string]any{"containers": []any{container}}})
	}
	even := fixture.Policy("p").To("member1")
	byRoom := even.Dividing(policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated,
	})
	lazy := byRoom.Lazy()
	others := func(b *propagation.Binding) *propagation.Binding {
		b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{
			ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")}, PriorityClassName: "high",
		}
		return b
	}
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   fixture.PolicyBuilder
		binding  *propagation.Binding
		want     string // empty: it says nothing
		same     bool
	}{
		"a new one says it": {template: nginx("100m"), policy: byRoom, want: "100m"},
		"one whose replicas are not divided by room does not": {template: nginx("100m"), policy: even},
		"one whose replicas request nothing does not":         {template: nginx(""), policy: byRoom},
		"nor does one without a pod template":                 {template: fixture.Deployment("nginx"), policy: byRoom},
		"it says it once":                                     {template: nginx("100m"), policy: byRoom, binding: after(nginx("100m"), byRoom), want: "100m", same: true},
		"however it is written":                               {template: nginx("0.1"), policy: byRoom, binding: after(nginx("0.1"), byRoom), want: "100m", same: true},
		"it changes with the content":                         {template: nginx("200m"), policy: byRoom, binding: after(nginx("100m"), byRoom), want: "200m"},
		"and ends with it":                                    {template: nginx(""), policy: byRoom, binding: after(nginx("100m"), byRoom)},
		"not while a Lazy policy that asks for it waits":      {template: nginx("100m"), policy: lazy.Generation(2), binding: after(nginx("100m"), even.Lazy()), same: true},
		"it comes with a policy that divides by room":         {template: nginx("100m"), policy: byRoom, binding: after(nginx("100m"), even), want: "100m"},
		"what somebody else says stays where nobody asks":     {template: nginx("100m"), policy: even, binding: others(after(nginx("100m"), even)), want: "7", same: true},
		"and where Sluice cannot tell":                        {template: fixture.Deployment("nginx"), policy: byRoom, binding: others(after(fixture.Deployment("nginx"), byRoom)), want: "7", same: true},
		"of what a replica requests, the template decides":    {template: nginx("100m"), policy: byRoom, binding: others(after(nginx("100m"), byRoom)), want: "100m"},
	} {
		t.Run(name, func(t *testing.T) {
			next := gating.Decide(gating.Input{Template: tc.template.ClaimedBy(tc.policy).Template(), Policy: tc.policy.Policy(), Binding: tc.binding}).Next
			got := ""
			if r := next.Spec.ReplicaRequirements; r != nil && len(r.ResourceRequest) > 0 {
				got = r.ResourceRequest.Cpu().String()
			}
			if got != tc.want {
				t.Errorf("a replica requests %q, want %q", got, tc.want)
			}
			if same := next == tc.binding; same != tc.same {
				t.Errorf("the same binding: %t, want %t", same, tc.same)
			}
		})
	}
}
