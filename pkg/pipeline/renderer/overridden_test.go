// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// An override that goes with the definition of its kind stays in force: nobody deleted it.
func TestZ11AnOverrideThatNobodyDeletedStaysInForce(t *testing.T) {
	key := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "over"}
	over := propagation.Override{Key: key, Spec: policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{{
		TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}},
		Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{
			Operator: policyv1alpha1.OverriderOpAdd, Value: map[string]string{"by": "override"},
		}}},
	}}}}
	kind := hub.OverrideKinds()[1]
	if kind.Kind != "OverridePolicy" {
		kind = hub.OverrideKinds()[0]
	}
	for sentence, tc := range map[string]struct {
		undefined bool          // the definition is being deleted, or gone
		defined   time.Duration // when it was made, before or after the override
		stays     bool
	}{
		"somebody deleted it":              {defined: -time.Hour},
		"its definition is being deleted":  {undefined: true, stays: true},
		"it was defined anew since":        {defined: time.Hour, stays: true},
		"nobody knows when it was defined": {},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := secretBound(t)
			r.hub.PutOverride(over)
			r.render()
			says := func(cluster string) bool {
				return strings.Contains(string(r.work(cluster).Spec.Workload.Manifests[0].Raw), "override")
			}
			if !says("m2") || says("m1") {
				t.Fatal("the override is not in force in m2 alone")
			}
			r.hub.DropOverride(key)
			if tc.defined != 0 {
				r.hub.Define(kind.GroupKind(), fixture.Start.Add(tc.defined))
			}
			r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
				if tc.undefined && q.String() == "get definition of OverridePolicy" {
					return outcome.ErrNotServed
				}
				return nil
			}
			r.writes = nil
			r.let("hunter2")
			r.render()
			if says("m2") != tc.stays {
				t.Errorf("it is in force: %t, want %t; written: %v", !tc.stays, tc.stays, r.writes)
			}
			c := meta.FindStatusCondition(r.hub.LiveBinding(r.bound.Key).Status.Conditions, rendering.ConditionRendered)
			if told := c != nil && c.Reason == rendering.ReasonOverrideFailed && strings.Contains(c.Message, "m2") && strings.Contains(c.Message, "nobody deleted it"); told != tc.stays {
				t.Errorf("the binding says %+v", c)
			}
			r.hub.PutOverride(over)
			r.hub.Ask = func(context.Context, pipelinetest.Request) error { return nil }
			r.render()
			if !says("m2") {
				t.Error("it was made again, and is not in force")
			}
			r.hub.Define(kind.GroupKind(), fixture.Start.Add(-time.Hour))
			r.hub.DropOverride(key)
			r.render()
			if says("m2") {
				t.Error("somebody deleted it, and it is in force")
			}
		})
	}
}
