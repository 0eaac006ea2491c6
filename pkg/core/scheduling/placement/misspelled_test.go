// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// A label that no member has is what a misspelled one looks like: it takes nothing away.
func TestZ2AnAffinityToALabelThatNobodyHas(t *testing.T) {
	three := members{member("member1", "env=prod"), member("member2", "env=canary"), member("member3", "env=prod")}
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) placementv1.ClusterSelectorTerm {
		return placementv1.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}}
	}
	property := placementv1.ClusterSelectorTerm{PropertySelector: &placementv1.PropertySelector{
		MatchExpressions: []placementv1.PropertySelectorRequirement{{Name: "nodes", Operator: placementv1.PropertySelectorGreaterThan, Values: []string{"1"}}},
	}}
	for name, tc := range map[string]struct {
		terms   []placementv1.ClusterSelectorTerm
		number  int // of members that are wanted; 0: all
		members members
		has     string
		want    string
		says    []string // of what is not as it would be; empty: it is fulfilled
		short   bool
	}{
		"a value that nobody has": {
			terms: []placementv1.ClusterSelectorTerm{labelled("env", "prdo")}, has: "member1 member3", want: "member1 member3",
			says: []string{"no cluster has the label env=prdo", "member1, member3 would lose the placement", "nothing moves"}, short: true,
		},
		"a key that nobody has":  {terms: []placementv1.ClusterSelectorTerm{labelled("evn", "prod")}, has: "member1", want: "member1", says: []string{"evn=prod"}, short: true},
		"none of several values": {terms: []placementv1.ClusterSelectorTerm{expression("env", metav1.LabelSelectorOpIn, "prdo", "canray")}, has: "member2", want: "member2", says: []string{"env in (prdo, canray)"}, short: true},
		"that a key is there":    {terms: []placementv1.ClusterSelectorTerm{expression("evn", metav1.LabelSelectorOpExists)}, has: "member2", want: "member2", says: []string{"the label evn,"}, short: true},
		"a property":             {terms: []placementv1.ClusterSelectorTerm{property}, has: "member2", want: "member2", says: []string{"the property nodes"}, short: true},
		"as many as are wanted":  {terms: []placementv1.ClusterSelectorTerm{labelled("env", "prdo")}, number: 2, has: "member1 member2", want: "member1 member2", says: []string{"env=prdo"}, short: true},
		"beside one that is right, nobody gets it for that one meanwhile": {
			terms: []placementv1.ClusterSelectorTerm{labelled("env", "prod"), labelled("env", "canray")}, has: "member1 member2", want: "member1 member2",
			says: []string{"env=canray, and member2 would lose"}, short: true,
		},
		"beside one that is right, where nobody loses it": {terms: []placementv1.ClusterSelectorTerm{labelled("env", "prod"), labelled("env", "canray")}, has: "member1", want: "member1 member3"},
		"one of several values":                           {terms: []placementv1.ClusterSelectorTerm{expression("env", metav1.LabelSelectorOpIn, "prod", "canray")}, has: "member1 member2", want: "member1 member3"},
		"a label that a member has takes it from others":  {terms: []placementv1.ClusterSelectorTerm{labelled("env", "canary")}, has: "member1 member3", want: "member2"},
		"that there is no label which all have":           {terms: []placementv1.ClusterSelectorTerm{expression("env", metav1.LabelSelectorOpDoesNotExist)}, has: "member1", want: "member1", says: []string{"no cluster has all that the required affinity asks for, and member1 would lose"}, short: true},
		"labels that no member has together": {
			terms: []placementv1.ClusterSelectorTerm{{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod", "stage": "canary"}}}},
			has:   "member1 member2", want: "member1 member2", members: members{member("member1", "env=prod", "stage=prod"), member("member2", "env=canary", "stage=canary")},
			says: []string{"no cluster has all that the required affinity asks for, and member1, member2 would lose"}, short: true,
		},
		"a new placement goes nowhere, and says so": {terms: []placementv1.ClusterSelectorTerm{labelled("env", "prdo")}, says: []string{"no cluster has the label env=prdo"}},
		"a member that is leaving leaves": {
			terms: []placementv1.ClusterSelectorTerm{labelled("env", "prdo")}, members: members{member("member1", "env=prod"), leave(member("member2"))},
			has: "member1 member2", want: "member1", says: []string{"and member1 would lose"}, short: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Policy: policy(&placementv1.PlacementPolicy{PlacementType: placementv1.PickAllPlacementType, Affinity: required(tc.terms...)}, -1), Members: three, Now: now}
			if tc.number > 0 {
				in.Policy = policy(&placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType, Affinity: required(tc.terms...)}, tc.number)
			}
			if tc.members != nil {
				in.Members = tc.members
			}
			for _, m := range strings.Fields(tc.has) {
				in.Bindings = append(in.Bindings, binding(m, placementv1.BindingStateBound))
			}
			d := Decide(in)
			for range 2 { // asked again, it says the same
				if diff := cmp.Diff(strings.Fields(tc.want), namesOf(d.Picked), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("picked (-want +got):\n%s", diff)
				}
				if (d.Condition.Status == metav1.ConditionFalse) != tc.short {
					t.Errorf("condition %+v", d.Condition)
				}
				for _, w := range tc.says {
					if !strings.Contains(d.Condition.Message, w) {
						t.Errorf("it says %q, and not %q", d.Condition.Message, w)
					}
				}
				if len(tc.says) == 0 && strings.Contains(d.Condition.Message, "no cluster has") {
					t.Errorf("it says %q", d.Condition.Message)
				}
				in.Policy = after(in.Policy, d)
				d = Decide(in)
			}
		})
	}
}

// A label that was taken off all members takes the placement from nobody, and a smaller
// number does all the same.
func TestC38C39ASmallerNumberWhereNobodyHasTheLabelAnyMore(t *testing.T) {
	for name, tc := range map[string]struct {
		number int
		want   string
	}{
		"as many as there are": {number: 3, want: "member1 member2 member3"},
		"one less":             {number: 2, want: "member2 member3"},
		"none":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType, Affinity: required(labelled("env", "prod"))}
			in := Input{Policy: kept(policy(p, tc.number), "member1", "member2", "member3"), Members: members{member("member1"), member("member2"), member("member3")}, Now: now}
			for _, m := range []string{"member1", "member2", "member3"} {
				in.Bindings = append(in.Bindings, binding(m, placementv1.BindingStateBound))
			}
			for range 3 { // asked again, while whoever was given up still has it
				d := Decide(in)
				if diff := cmp.Diff(strings.Fields(tc.want), namesOf(d.Picked), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("picked (-want +got):\n%s", diff)
				}
				if d.Condition.Status != metav1.ConditionTrue {
					t.Errorf("it says %q", d.Condition.Message)
				}
				in.Policy = after(in.Policy, d)
				in.Policy.Status.Conditions = []metav1.Condition{d.Condition}
			}
		})
	}
}

func TestC84ReasonsStayWhenTheMembersThatWereGivenUpAreEmpty(t *testing.T) {
	for name, tc := range map[string]struct {
		n       int
		tainted []string
		emptied int // how many of the members are empty
	}{
		"one of two is given up":                          {n: 1, emptied: 1},
		"all are given up":                                {emptied: 2},
		"all are given up, of which one has a taint":      {tainted: []string{"member3"}, emptied: 2},
		"one of two is given up, and one has a taint":     {n: 1, tainted: []string{"member1"}, emptied: 1},
		"one of two is given up, and none is without one": {n: 1, tainted: []string{"member1", "member2", "member3"}, emptied: 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Policy:   kept(policy(&placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType}, tc.n), "member1", "member3"),
				Members:  members{member("member1"), member("member2"), member("member3")},
				Bindings: []*placementv1.ClusterResourceBinding{binding("member1", placementv1.BindingStateBound), binding("member3", placementv1.BindingStateBound)}, Now: now,
			}
			for _, m := range in.Members {
				if slices.Contains(tc.tainted, m.Name) {
					tainted(m, "off", "")
				}
			}
			d := Decide(in)
			in.Policy, in.Bindings = after(in.Policy, d), in.Bindings[tc.emptied:]
			if diff := cmp.Diff(d, Decide(in)); diff != "" {
				t.Errorf("when they are empty it is decided otherwise (-want +got):\n%s", diff)
			}
		})
	}
}
