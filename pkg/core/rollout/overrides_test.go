// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

func TestC70OverridesThatConcernAMember(t *testing.T) {
	clusterOverride := func(name, namespace string, of *placementv1.PlacementRef, rules ...placementv1.OverrideRule) *placementv1.ClusterResourceOverrideSnapshot {
		s := &placementv1.ClusterResourceOverrideSnapshot{}
		s.Name, s.Labels = name, OverrideLabels(name, 0)
		s.Spec.OverrideSpec = placementv1.ClusterResourceOverrideSpec{
			Placement: of, Policy: &placementv1.OverridePolicy{OverrideRules: rules},
			ClusterResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: namespace}},
		}
		return s
	}
	everywhere := placementv1.OverrideRule{ClusterSelector: &placementv1.ClusterSelector{}}
	inProd := placementv1.OverrideRule{ClusterSelector: &placementv1.ClusterSelector{ClusterSelectorTerms: []placementv1.ClusterSelectorTerm{
		{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}},
	}}}
	young := placementv1.OverrideRule{ClusterSelector: &placementv1.ClusterSelector{ClusterSelectorTerms: []placementv1.ClusterSelectorTerm{
		{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist}}}},
	}}}
	old := clusterOverride("c-0", "shop", nil, everywhere)
	old.Labels[placementv1.LabelIsLatestSnapshot] = "false"
	cluster := []*placementv1.ClusterResourceOverrideSnapshot{
		clusterOverride("b-0", "shop", nil, everywhere), clusterOverride("a-0", "shop", &placementv1.PlacementRef{Name: "shop"}, inProd), old,
		clusterOverride("d-0", "another", nil, everywhere), clusterOverride("e-0", "shop", &placementv1.PlacementRef{Name: "another"}, everywhere),
		clusterOverride("f-0", "shop", nil, placementv1.OverrideRule{}), clusterOverride("g-0", "shop", nil, young),
	}
	within := &placementv1.ResourceOverrideSnapshot{}
	within.Namespace, within.Name, within.Labels = "shop", "w-0", OverrideLabels("w", 0)
	within.Spec.OverrideSpec = placementv1.ResourceOverrideSpec{
		Policy:            &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{inProd}},
		ResourceSelectors: []placementv1.ResourceSelector{{Version: "v1", Kind: "ConfigMap", Name: "settings"}},
	}
	prod, canary := &memberclusterv1.MemberCluster{}, &memberclusterv1.MemberCluster{}
	prod.Name, prod.Labels, canary.Name = "prod", map[string]string{"env": "prod", "team": "shop"}, "canary"
	objects := []placementv1.ResourceIdentifier{{Version: "v1", Kind: "Namespace", Name: "shop"}, {Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	got := OverridesFor(LatestOverrides("shop", cluster, []*placementv1.ResourceOverrideSnapshot{within}), objects, []*memberclusterv1.MemberCluster{prod, canary})
	want := map[string]Overrides{
		"prod":   {Cluster: []string{"a-0", "b-0", "g-0"}, InNames: []placementv1.NamespacedName{{Namespace: "shop", Name: "w-0"}}, For: saw("env", "prod")},
		"canary": {Cluster: []string{"b-0", "g-0"}, For: saw()},
	}
	for _, o := range want {
		o.For.Lacks = []string{"old"}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
}

// saw is what overrides see of a member with these labels, of which each key is followed by
// its value.
func saw(labels ...string) *placementv1.OverriddenFor {
	of := &placementv1.OverriddenFor{Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		of.Labels[labels[i]] = labels[i+1]
	}
	return of
}

func TestC25HistoryOfOverrides(t *testing.T) {
	history := func(indexes ...int) (all []Kept) {
		for _, i := range indexes {
			all = append(all, Kept{Name: OverrideSnapshotName("o", i), Labels: OverrideLabels("o", i)})
		}
		return all
	}
	ten := history(4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	for name, tc := range map[string]struct {
		stored []Kept
		latest int
		needed map[string]bool
		want   []string
	}{
		"ten are kept":                              {ten, 13, nil, nil},
		"with an eleventh the oldest goes":          {ten, 14, nil, []string{"o-4"}},
		"one that a member has stays":               {ten, 14, map[string]bool{"o-4": true}, nil},
		"when it has it no more, it goes":           {append(history(2), ten...), 14, map[string]bool{"o-4": true}, []string{"o-2"}},
		"what says no index is left alone":          {append([]Kept{{Name: "mine"}}, ten...), 13, nil, nil},
		"the order in which they come is no matter": {history(13, 4, 5, 12, 6, 11, 7, 10, 8, 9), 14, nil, []string{"o-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, EndedOverrides(tc.stored, tc.latest, tc.needed)); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
		})
	}
}

func TestC70AnOverrideIsKeptWhenItChanged(t *testing.T) {
	stored := []Kept{{Owner: "u", Labels: OverrideLabels("o", 0), Hash: "a"}, {Owner: "u", Labels: OverrideLabels("o", 1), Hash: "b"}}
	former := []Kept{{Owner: "v", Labels: OverrideLabels("o", 3), Hash: "a"}}
	for name, tc := range map[string]struct {
		stored []Kept
		hash   string
		index  int
		fresh  bool
	}{
		"the first":           {nil, "a", 0, true},
		"unchanged":           {stored, "b", 1, false},
		"changed":             {stored, "c", 2, true},
		"as it was once":      {stored, "a", 2, true},
		"made anew":           {former, "a", 4, true},
		"of nothing readable": {[]Kept{{Hash: "a"}}, "a", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			if index, fresh := NextOverride(tc.stored, "u", tc.hash); index != tc.index || fresh != tc.fresh {
				t.Errorf("%d, %v, want %d, %v", index, fresh, tc.index, tc.fresh)
			}
		})
	}
}
