// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestServes(t *testing.T) {
	complete := func(s metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: ConditionCompleteAPIEnablements, Status: s}}
	}
	tests := map[string]struct {
		conditions              []metav1.Condition
		apiVersion, kind        string
		wantServed, wantCertain bool
	}{
		"a kind on the list is served":                  {apiVersion: "apps/v1", kind: "Deployment", wantServed: true, wantCertain: true},
		"an incomplete list can confirm a kind":         {conditions: complete(metav1.ConditionFalse), apiVersion: "apps/v1", kind: "Deployment", wantServed: true, wantCertain: true},
		"a complete list denies a kind":                 {conditions: complete(metav1.ConditionTrue), apiVersion: "apps/v1", kind: "Gadget", wantCertain: true},
		"an incomplete list cannot deny a kind":         {conditions: complete(metav1.ConditionFalse), apiVersion: "apps/v1", kind: "Gadget"},
		"without the condition the list is not trusted": {apiVersion: "apps/v1", kind: "Gadget"},
		"another version is another kind":               {conditions: complete(metav1.ConditionTrue), apiVersion: "apps/v1beta1", kind: "Deployment", wantCertain: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status := ClusterStatus{
				APIEnablements: []APIEnablement{{GroupVersion: "apps/v1", Resources: []APIResource{{Name: "deployments", Kind: "Deployment"}}}},
				Conditions:     tc.conditions,
			}
			served, certain := status.Serves(tc.apiVersion, tc.kind)
			if served != tc.wantServed || certain != tc.wantCertain {
				t.Errorf("served, certain = %v, %v, want %v, %v", served, certain, tc.wantServed, tc.wantCertain)
			}
		})
	}
}

func TestZoneNames(t *testing.T) {
	tests := map[string]struct {
		spec ClusterSpec
		want []string
	}{
		"zones go before the deprecated zone": {spec: ClusterSpec{Zone: "a", Zones: []string{"b", "c"}}, want: []string{"b", "c"}},
		"the deprecated zone still counts":    {spec: ClusterSpec{Zone: "a"}, want: []string{"a"}},
		"no zone is no zone":                  {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.spec.ZoneNames()); diff != "" {
				t.Errorf("zones (-want +got):\n%s", diff)
			}
		})
	}
}
