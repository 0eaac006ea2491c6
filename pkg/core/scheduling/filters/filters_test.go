// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

func TestReject(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	tainted := func(taints ...corev1.Taint) func(*Input) {
		return func(in *Input) { in.Cluster.Spec.Taints = taints }
	}
	tolerating := func(tol ...corev1.Toleration) func(*Input) {
		return func(in *Input) { in.Binding.Spec.Placement.ClusterTolerations = tol }
	}
	there := func(in *Input) { in.Binding.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "member1"}} }
	spreading := func(noted string) func(*Input) {
		return func(in *Input) {
			in.Binding.Annotations = map[string]string{propagation.AnnotationSpreadsByGroup: noted}
			in.Binding.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldRegion}}
		}
	}
	const refused = "has the taint gpu=yes:NoSchedule, which is not tolerated"

	for name, tc := range map[string]struct {
		given []func(*Input)
		want  string
	}{
		"a plain cluster may have it": {nil, ""},
		"a cluster that is being unjoined may not": {
			[]func(*Input){func(in *Input) { in.Cluster.DeletionTimestamp = &metav1.Time{} }, there}, "is leaving"},
		"the placement's affinity is asked": {
			[]func(*Input){func(in *Input) {
				in.Affinity = &policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"member1"}}
			}}, "is excluded"},
		"a cluster that says nothing of what is spread over may not": {
			[]func(*Input){spreading("true")}, "has no region"},
		"nor if it has it already":                  {[]func(*Input){spreading("true"), there}, "has no region"},
		"but keeps it while its removal is held":    {[]func(*Input){spreading("true"), there, func(in *Input) { in.Kept = true }}, ""},
		"nor is it asked before Sluice acts on it":  {[]func(*Input){spreading("")}, ""},
		"one of a region is asked for nothing more": {[]func(*Input){spreading("true"), func(in *Input) { in.Cluster.Spec.Region = "eu" }}, ""},
		"a template does not go back to where it is evicted from": {
			[]func(*Input){func(in *Input) {
				in.Binding.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "member1"}}
			}}, "is being left by an eviction"},
		"a taint keeps it away":                            {[]func(*Input){tainted(gpu)}, refused},
		"a template that is there stays":                   {[]func(*Input){tainted(gpu), there}, ""},
		"a preference is no refusal":                       {[]func(*Input){tainted(corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectPreferNoSchedule})}, ""},
		"NoExecute keeps it away too":                      {[]func(*Input){tainted(corev1.Taint{Key: "down", Effect: corev1.TaintEffectNoExecute})}, "has the taint down:NoExecute, which is not tolerated"},
		"a toleration of key and value":                    {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Key: "gpu", Value: "yes"})}, ""},
		"a toleration of another value":                    {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Key: "gpu", Value: "no", Operator: corev1.TolerationOpEqual})}, refused},
		"a toleration of another effect":                   {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})}, refused},
		"a toleration of any value":                        {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists})}, ""},
		"a toleration of everything":                       {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})}, ""},
		"an empty toleration tolerates nothing":            {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Value: "yes"})}, refused},
		"an operator that nobody knows tolerates nothing":  {[]func(*Input){tainted(gpu), tolerating(corev1.Toleration{Key: "gpu", Operator: "Near"})}, refused},
		"all taints must be tolerated":                     {[]func(*Input){tainted(gpu, corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoSchedule}), tolerating(corev1.Toleration{Key: "gpu", Value: "yes"})}, "has the taint x:NoSchedule, which is not tolerated"},
		"without a placement no taint is tolerated either": {[]func(*Input){tainted(gpu), func(in *Input) { in.Binding.Spec.Placement = nil }}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Binding: &propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}}},
				Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}},
			}
			for _, f := range tc.given {
				f(&in)
			}
			if got := Reject(in); got != tc.want {
				t.Errorf("Reject = %q, want %q", got, tc.want)
			}
		})
	}
}
