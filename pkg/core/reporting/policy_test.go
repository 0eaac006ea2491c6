// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

func TestZ28PolicySaysWhichRightIsMissing(t *testing.T) {
	right := propagation.Right{Account: "detector", Verb: "patch", Resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}, Namespace: "shop"}
	p := &propagation.Policy{}
	if list, changed := PolicyConditions(p, nil, "", noon); changed || len(list) != 0 {
		t.Fatalf("all is well, and it says %v", list)
	}
	say := func(missing ...propagation.Right) (*metav1.Condition, bool) {
		list, changed := PolicyConditions(p, missing, "", noon)
		p.Status.Conditions = list
		return meta.FindStatusCondition(list, ConditionKindsGranted), changed
	}
	c, changed := say(right)
	if !changed || c == nil || c.Status != metav1.ConditionFalse || c.Reason != ReasonKindNotGranted {
		t.Fatalf("a right is missing: %v, changed %t", c, changed)
	}
	for _, part := range []string{"account detector may not patch widgets.example.com in shop", "kubectl sluice grant widgets.example.com "} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("%q lacks %q", c.Message, part)
		}
	}
	if _, changed := say(right); changed {
		t.Error("the same is said again")
	}
	if c, changed := say(); !changed || c.Status != metav1.ConditionTrue {
		t.Errorf("it is granted by now: %v, changed %t", c, changed)
	}
}

func TestPolicySaysWhichFieldsAreIgnored(t *testing.T) {
	p := &propagation.Policy{}
	p.Spec.Failover = &policyv1alpha1.FailoverBehavior{}
	p.Spec.Placement.ClusterTolerations = []corev1.Toleration{{TolerationSeconds: ptr.To(int64(30))}}
	list, changed := PolicyConditions(p, nil, "", noon)
	c := meta.FindStatusCondition(list, ConditionFieldsIgnored)
	if !changed || c == nil || c.Status != metav1.ConditionTrue {
		t.Fatalf("two fields are ignored: %v, changed %t", list, changed)
	}
	for _, part := range []string{"spec.failover", "tolerationSeconds (it is tolerated for ever)"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("%q lacks %q", c.Message, part)
		}
	}
	p.Status.Conditions, p.Spec = list, policyv1alpha1.PropagationSpec{}
	p.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ // which acts
		WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
	}
	list, changed = PolicyConditions(p, nil, "", noon)
	if c := meta.FindStatusCondition(list, ConditionFieldsIgnored); !changed || c.Status != metav1.ConditionFalse {
		t.Fatalf("none is ignored by now: %v, changed %t", c, changed)
	}
}

func TestPolicySaysWhichKindsItCannotSelect(t *testing.T) {
	roles := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	p := &propagation.Policy{NoNamespace: []schema.GroupVersionKind{roles}}
	list, changed := PolicyConditions(p, nil, "", noon)
	c := meta.FindStatusCondition(list, ConditionKindsNamespaced)
	const want = "objects of kind ClusterRole of rbac.authorization.k8s.io/v1 have no namespace, so a policy of a namespace selects none of them: one without a namespace does"
	if !changed || c == nil || c.Status != metav1.ConditionFalse || c.Reason != ReasonKindHasNoNamespace || c.Message != want {
		t.Fatalf("it names ClusterRoles: %v, changed %t", list, changed)
	}
	p.Status.Conditions, p.NoNamespace = list, nil
	if list, changed = PolicyConditions(p, nil, "", noon); !changed || !meta.IsStatusConditionTrue(list, ConditionKindsNamespaced) {
		t.Errorf("it does not name them any more: %v, changed %t", list, changed)
	}
}

func TestZ12PolicySaysWhatIsHeld(t *testing.T) {
	p := &propagation.Policy{}
	list, changed := PolicyConditions(p, nil, "12 in m1", noon)
	if !changed || !conditions.Is(list, ConditionRemovalHeld, metav1.ConditionTrue) || len(list) != 1 {
		t.Fatalf("it says %v", list)
	}
	p.Status.Conditions = list
	if _, changed := PolicyConditions(p, nil, "12 in m1", noon); changed {
		t.Error("the same is written again")
	}
	if list, changed := PolicyConditions(p, nil, "", noon); !changed || !conditions.Is(list, ConditionRemovalHeld, metav1.ConditionFalse) {
		t.Errorf("it says %v", list)
	}
}
