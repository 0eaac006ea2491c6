// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package affinity

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

func member() *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	c.Name = "member1"
	c.Labels = map[string]string{"env": "prod"}
	c.Spec.Provider = "acme"
	c.Spec.Region = "north"
	c.Spec.Zones = []string{"a", "b"}
	return c
}

func fields(key string, op corev1.NodeSelectorOperator, values ...string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}},
	}}
}

func TestMismatch(t *testing.T) {
	in, notIn := corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn
	byLabel := func(k, v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
	}
	for name, tc := range map[string]struct {
		affinity *policyv1alpha1.ClusterAffinity
		want     string // empty: matches
	}{
		"no affinity asks for nothing":                  {nil, ""},
		"an empty affinity asks for nothing":            {&policyv1alpha1.ClusterAffinity{}, ""},
		"an empty field selector asks for nothing":      {&policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{}}, ""},
		"a named cluster matches":                       {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member2", "member1"}}, ""},
		"a cluster that is not named does not":          {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member2"}}, "is not in clusterNames"},
		"exclusion beats naming":                        {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1"}, ExcludeClusters: []string{"member1"}}, "is excluded"},
		"labels match":                                  {&policyv1alpha1.ClusterAffinity{LabelSelector: byLabel("env", "prod")}, ""},
		"other labels do not":                           {&policyv1alpha1.ClusterAffinity{LabelSelector: byLabel("env", "test")}, "does not match the labelSelector"},
		"a name does not make up for a label":           {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1"}, LabelSelector: byLabel("env", "test")}, "does not match the labelSelector"},
		"an invalid label selector matches nothing":     {&policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Near"}}}}, "cannot be selected by the invalid labelSelector"},
		"the provider is in the list":                   {fields("provider", in, "other", "acme"), ""},
		"the provider is not in the list":               {fields("provider", in, "other"), "does not match the fieldSelector for provider"},
		"the region is not among the unwanted":          {fields("region", notIn, "south"), ""},
		"the region is among the unwanted":              {fields("region", notIn, "north"), "does not match the fieldSelector for region"},
		"all zones must be in the list":                 {fields("zone", in, "a"), "does not match the fieldSelector for zone"},
		"all zones are in the list":                     {fields("zone", in, "a", "b", "c"), ""},
		"one zone among the unwanted is enough to fail": {fields("zone", notIn, "b"), "does not match the fieldSelector for zone"},
		"an unknown field matches nothing":              {fields("planet", notIn, "mars"), "cannot be selected by the unknown field planet"},
		"an unknown operator matches nothing":           {fields("region", corev1.NodeSelectorOpExists), "does not match the fieldSelector for region"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Mismatch(tc.affinity, member())
			if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
				t.Errorf("Mismatch = %q, want %q", got, tc.want)
			}
			if Matches(tc.affinity, member()) != (tc.want == "") {
				t.Errorf("Matches disagrees with Mismatch")
			}
		})
	}
}

func TestAFieldThatIsNotSet(t *testing.T) {
	c := member()
	c.Spec.Region, c.Spec.Zones = "", nil
	for _, key := range []string{"region", "zone"} {
		if Matches(fields(key, corev1.NodeSelectorOpIn, "north"), c) {
			t.Errorf("%s In matches a cluster that has none", key)
		}
		if !Matches(fields(key, corev1.NodeSelectorOpNotIn, "north"), c) {
			t.Errorf("%s NotIn does not match a cluster that has none", key)
		}
	}
	c.Spec.Zone = "a"
	if !Matches(fields("zone", corev1.NodeSelectorOpIn, "a"), c) {
		t.Error("the deprecated zone does not count")
	}
}
