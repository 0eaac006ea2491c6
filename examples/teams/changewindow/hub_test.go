// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	corefake "k8s.io/client-go/kubernetes/fake"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

func policy(kind, namespace, name string, suspension map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"suspension": suspension}}}
	u.SetAPIVersion("policy.karmada.io/v1alpha1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func TestOnlyASuspensionOfEveryMemberCounts(t *testing.T) {
	all, some := map[string]any{"dispatching": true}, map[string]any{"dispatchingOnClusters": map[string]any{"clusterNames": []any{"member1"}}}
	c := &cluster{policies: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(),
		policy("PropagationPolicy", "shop", "all", all), policy("PropagationPolicy", "shop", "some", some),
		policy("PropagationPolicy", "shop", "none", nil), policy("ClusterPropagationPolicy", "", "wide", all),
	)}
	in := func(name string) map[string]string {
		return map[string]string{
			policyv1alpha1.AnnotationPropagationPolicyNamespace: "shop", policyv1alpha1.AnnotationPropagationPolicyName: name,
		}
	}
	tests := map[string]struct {
		claim map[string]string
		want  bool
	}{
		"a policy that holds back every member is":                              {in("all"), true},
		"one that holds back some is not, for the others would get what is new": {in("some"), false},
		"one that holds back none is not":                                       {in("none"), false},
		"one that is gone is not":                                               {in("gone"), false},
		"no policy is none":                                                     {nil, false},
		"a policy without a namespace may be":                                   {map[string]string{policyv1alpha1.AnnotationClusterPropagationPolicyName: "wide"}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := c.suspended(t.Context(), tc.claim); err != nil || got != tc.want {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	c := &cluster{home: "shop-tools", core: corefake.NewClientset()}
	h := Waiting{Data: events.Data{Template: &nginx}, Event: "1", Why: "OutsideWindow: until Monday"}
	for _, id := range []string{"1", "1", "2"} {
		h.Event = id
		if err := c.Hold(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.Waiting(t.Context(), pace)
	if err != nil || len(all) != 1 || *all[0].Data.Template != nginx || all[0].Event != "2" || all[0].Why != h.Why {
		t.Fatalf("got %+v, %v, want one record, of the last event", all, err)
	}
	if err := c.Forget(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	list, err := c.core.CoreV1().ConfigMaps("shop-tools").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%d records, %v, want none", len(list.Items), err)
	}
	if err := c.Forget(t.Context(), all[0]); err != nil {
		t.Errorf("forgetting again: %v", err)
	}
}

func TestAWindowThatCannotBeReadSaysWhy(t *testing.T) {
	c := &cluster{home: "shop-tools", core: corefake.NewClientset()}
	if w, why, err := c.Window(t.Context()); w != nil || why != "there is no ConfigMap changewindow" || err != nil {
		t.Errorf("got %v, %q, %v", w, why, err)
	}
}
