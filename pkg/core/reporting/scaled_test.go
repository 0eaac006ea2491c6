// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
)

func TestScaled(t *testing.T) {
	type change = func(*propagation.Template, *propagation.Binding)
	for sentence, tc := range map[string]struct {
		change change
		want   int32 // 0: as it is
	}{
		"what runs in the members is brought back": {want: 5},
		"the template asks for that already": {change: func(tm *propagation.Template, b *propagation.Binding) {
			tm.Object["spec"].(map[string]any)["replicas"], b.Spec.Replicas = int64(5), 5
		}},
		"the template does not ask for it": {change: func(tm *propagation.Template, _ *propagation.Binding) {
			delete(tm.Labels, propagation.LabelRetainReplicas)
		}},
		"the label says something else": {change: func(tm *propagation.Template, _ *propagation.Binding) {
			tm.Labels[propagation.LabelRetainReplicas] = "false"
		}},
		"each member has all of the replicas": {change: func(_ *propagation.Template, b *propagation.Binding) { b.Spec.Placement.ReplicaScheduling = nil }},
		"the template changed since":          {change: func(tm *propagation.Template, _ *propagation.Binding) { tm.Hash = "newer" }},
		"its replicas changed since":          {change: func(_ *propagation.Template, b *propagation.Binding) { b.Spec.Replicas = 3 }},
		"a policy waits for the next change": {change: func(_ *propagation.Template, b *propagation.Binding) {
			b.Status.Conditions = []metav1.Condition{{Type: gating.ConditionActive, Status: metav1.ConditionFalse}}
		}},
		"a member is scaling": {change: func(_ *propagation.Template, b *propagation.Binding) {
			b.Status.AggregatedStatus[0].Health = workv1alpha2.ResourceUnhealthy
		}},
		"a member did not get it": {change: func(_ *propagation.Template, b *propagation.Binding) { b.Status.AggregatedStatus[0].Applied = false }},
		"a member has said nothing": {change: func(_ *propagation.Template, b *propagation.Binding) {
			b.Status.AggregatedStatus = b.Status.AggregatedStatus[:1]
		}},
		"a member runs none": {change: func(_ *propagation.Template, b *propagation.Binding) {
			b.Status.AggregatedStatus[0].Status = encode(object(t, `{generation: 1, observedGeneration: 1, replicas: 0}`))
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			tm := template(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 7}, spec: {replicas: 2}}`)
			tm.Labels = map[string]string{propagation.LabelRetainReplicas: "true"}
			b := reports(t, `{generation: 1, observedGeneration: 1, replicas: 3}`, `{generation: 4, observedGeneration: 4, replicas: 2}`)
			for i := range b.Status.AggregatedStatus {
				b.Status.AggregatedStatus[i].Health = workv1alpha2.ResourceHealthy
			}
			b.Spec.Replicas = 2
			b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
				ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided,
			}}
			if tc.change != nil {
				tc.change(tm, b)
			}
			if got, differs := Scaled(tm, b); got != tc.want || differs != (tc.want != 0) {
				t.Errorf("%d, %t; want %d", got, differs, tc.want)
			}
		})
	}
}
