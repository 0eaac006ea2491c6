// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/propagation"
)

func TestWarn(t *testing.T) {
	gateOff := "spec.preemption has no effect: the feature gate PropagationPolicyPreemption is off"
	ignored := "spec.preemption is ignored: the feature gate StaticPolicy is on"
	node := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Node"}
	for name, tc := range map[string]struct {
		sent     edits
		features propagation.Features
		want     []string
	}{
		"an ordinary policy deserves none":                  {sent: edits{lazy}},
		"P3 Always while the gate is off":                   {sent: edits{always}, want: []string{gateOff}},
		"Always while the gate is on":                       {sent: edits{always}, features: propagation.Features{Preemption: true}},
		"ST3 Y4 Always under StaticPolicy":                  {sent: edits{always}, features: propagation.Features{Static: true}, want: []string{ignored}},
		"ST3 Y4 Always under StaticPolicy with the gate on": {sent: edits{always}, features: propagation.Features{Static: true, Preemption: true}, want: []string{ignored}},
		"Never under StaticPolicy":                          {sent: edits{}, features: propagation.Features{Static: true}},
		"a policy that is being deleted gets none":          {sent: edits{always, func(p *admission.Policy) { p.Deleting = true }}},
		"a selector of what is never a template":            {sent: edits{selecting(deployment("shop", "nginx"), node)}, want: []string{"spec.resourceSelectors[1].kind selects nothing: kind Node belongs to the cluster it is in"}},
		"a field that is not acted on yet":                  {sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) { s.Failover = &policyv1alpha1.FailoverBehavior{} })}, want: []string{"spec.failover is stored and not acted on yet"}},
		"a toleration that ends": {
			sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
				s.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30)}}
			})},
			want: []string{"spec.placement.clusterTolerations[].tolerationSeconds is stored and not acted on yet: it is tolerated for ever"},
		},
		"several such fields": {
			sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
				s.SchedulePriority = &policyv1alpha1.SchedulePriority{}
				s.DependentOverrides = []string{"a"}
				s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster"}, {SpreadByField: "region"}}
				s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
					WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
				}
			})},
			want: []string{
				"spec.schedulePriority is stored and not acted on yet",
				"spec.dependentOverrides is stored and not acted on yet",
			},
		},
		"who divides replicas by room is told nothing, for that is acted on": {
			sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
				s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
					ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated,
				}
			})},
		},
		"the old name of propagateDeps is acted on, and deprecated": {
			sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) { s.Association = true })},
			want: []string{"spec.association is deprecated: use spec.propagateDeps"},
		},
		"what is acted on deserves none": {sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
			s.PropagateDeps, s.PreserveResourcesOnDeletion = true, ptr.To(true)
			s.ConflictResolution = policyv1alpha1.ConflictOverwrite
			s.Suspension = &policyv1alpha1.Suspension{Dispatching: ptr.To(true)}
			s.Placement.ClusterTolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MaxGroups: 2}, {}}
			s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{WeightPreference: &policyv1alpha1.ClusterPreferences{
				StaticWeightList: []policyv1alpha1.StaticClusterWeight{{Weight: 1}},
			}}
		})}},
	} {
		for _, scope := range propagation.Scopes {
			t.Run(string(scope)+" "+name, func(t *testing.T) {
				if diff := cmp.Diff(tc.want, admission.Warn(of(scope, tc.sent...), tc.features)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
