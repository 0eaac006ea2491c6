// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

type members = []*memberclusterv1.MemberCluster

func TestDecide(t *testing.T) {
	pickAll := func(p placementv1.PlacementPolicy) *placementv1.PlacementPolicy {
		p.PlacementType = placementv1.PickAllPlacementType
		return &p
	}
	pickN := func(p placementv1.PlacementPolicy) *placementv1.PlacementPolicy {
		p.PlacementType = placementv1.PickNPlacementType
		return &p
	}
	pickFixed := func(names ...string) *placementv1.PlacementPolicy {
		return &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: names}
	}
	three := members{member("member1", "env=prod"), member("member2", "env=canary"), member("member3", "env=prod")}
	property := func(name string, op placementv1.PropertySelectorOperator, value string) placementv1.ClusterSelectorTerm {
		return placementv1.ClusterSelectorTerm{PropertySelector: &placementv1.PropertySelector{
			MatchExpressions: []placementv1.PropertySelectorRequirement{{Name: name, Operator: op, Values: []string{value}}},
		}}
	}
	for name, tc := range map[string]struct {
		policy   *placementv1.ClusterSchedulingPolicySnapshot
		members  members
		bindings []*placementv1.ClusterResourceBinding
		want     string            // who is picked
		unpicked map[string]string // and why the others are not: a part of it
		short    bool              // not as many as are wanted
	}{
		"C31: without a policy every member is picked": {policy: policy(nil, -1), members: three, want: "member1 member2 member3"},
		"C31: but for those that have not joined, or are not healthy for long": {
			policy:  policy(nil, -1),
			members: members{member("a"), sick(member("b"), 6*time.Minute), sick(member("c"), 4*time.Minute), change(member("d"), func(m *memberclusterv1.MemberCluster) { m.Status.AgentStatus = nil })},
			want:    "a c", unpicked: map[string]string{"b": "not healthy for more than 5 minutes", "d": "not heard of yet"},
		},
		"C32: the required affinity lets pass": {
			policy: policy(pickAll(placementv1.PlacementPolicy{Affinity: required(labelled("env", "prod"))}), -1), members: three,
			want: "member1 member3", unpicked: map[string]string{"member2": "required cluster affinity"},
		},
		"C32: any of the terms": {
			policy: policy(pickAll(placementv1.PlacementPolicy{Affinity: required(labelled("env", "canary"), labelled("env", "prod"))}), -1), members: three,
			want: "member1 member2 member3",
		},
		"C33: a member that joins is picked, too": {
			policy: kept(policy(nil, -1), "member1"), members: three, want: "member1 member2 member3",
		},
		"C34: who no longer matches stays": {
			policy:  kept(policy(pickAll(placementv1.PlacementPolicy{Affinity: required(labelled("env", "prod"))}), -1), "member2"),
			members: three, want: "member1 member2 member3",
		},
		"C34: until the policy changes": {
			policy:  policy(pickAll(placementv1.PlacementPolicy{Affinity: required(labelled("env", "prod"))}), -1),
			members: three, bindings: []*placementv1.ClusterResourceBinding{binding("member2", placementv1.BindingStateBound)}, want: "member1 member3",
		},
		"C35: exactly those that are named, whatever their taints": {
			policy:  policy(pickFixed("member3", "member1"), -1),
			members: members{tainted(member("member1"), "a", "b"), member("member2"), member("member3")}, want: "member1 member3",
		},
		"C35: who is missing, leaving or not healthy has its reason": {
			policy: policy(pickFixed("a", "b", "c", "d"), -1), members: members{member("a"), leave(member("b")), silent(member("c"), 6*time.Minute)},
			want: "a", short: true, unpicked: map[string]string{"b": "leaving", "c": "no heartbeat", "d": "not found"},
		},
		"C36: where fewer fit, those are used": {
			policy: policy(pickN(placementv1.PlacementPolicy{Affinity: required(labelled("env", "canary"))}), 2), members: three,
			want: "member2", short: true, unpicked: map[string]string{"member1": "affinity", "member3": "affinity"},
		},
		"C37: a greater number adds only": {
			policy: kept(policy(pickN(placementv1.PlacementPolicy{}), 2), "member1"), members: three, want: "member1 member3",
			unpicked: map[string]string{"member2": "does not score high enough"},
		},
		"C38: a smaller number gives up first who has nothing yet": {
			policy: kept(policy(pickN(placementv1.PlacementPolicy{}), 2), "member1", "member2", "member3"), members: three,
			bindings: []*placementv1.ClusterResourceBinding{
				binding("member1", placementv1.BindingStateBound), binding("member2", placementv1.BindingStateBound), binding("member3", placementv1.BindingStateScheduled),
			}, want: "member1 member2", unpicked: map[string]string{"member3": "does not score high enough"},
		},
		"C38: then the lowest ranked": {
			policy: kept(policy(pickN(placementv1.PlacementPolicy{}), 1), "member1", "member2", "member3"), members: three,
			bindings: []*placementv1.ClusterResourceBinding{
				binding("member1", placementv1.BindingStateBound), binding("member2", placementv1.BindingStateBound), binding("member3", placementv1.BindingStateBound),
			}, want: "member3",
		},
		"C39: none": {policy: policy(pickN(placementv1.PlacementPolicy{}), 0), members: three, want: ""},
		"C40: preferred members come first": {
			policy:  policy(pickN(placementv1.PlacementPolicy{Affinity: preferred(placementv1.PreferredClusterSelector{Weight: 20, Preference: labelled("env", "canary")})}), 1),
			members: three, want: "member2", unpicked: map[string]string{"member1": "affinity score: 0", "member3": "affinity score: 0"},
		},
		"C40: and unwanted ones last": {
			policy:  policy(pickN(placementv1.PlacementPolicy{Affinity: preferred(placementv1.PreferredClusterSelector{Weight: -20, Preference: labelled("env", "prod")})}), 1),
			members: three, want: "member2",
		},
		"C40: a sorter gives parts of the weight": {
			policy: policy(pickN(placementv1.PlacementPolicy{Affinity: preferred(placementv1.PreferredClusterSelector{
				Weight: 10, Preference: placementv1.ClusterSelectorTerm{PropertySorter: &placementv1.PropertySorter{Name: "nodes", SortOrder: placementv1.Ascending}},
			})}), 2),
			members: members{having(member("a"), "nodes", "1"), having(member("b"), "nodes", "5"), having(member("c"), "nodes", "11"), member("d")},
			want:    "a b", unpicked: map[string]string{"c": "affinity score: 0", "d": "affinity score: 0"},
		},
		"C41: properties are compared as quantities": {
			policy:  policy(pickN(placementv1.PlacementPolicy{Affinity: required(property("memory", placementv1.PropertySelectorGreaterThan, "1000Mi"))}), 3),
			members: members{having(member("a"), "memory", "1Gi"), having(member("b"), "memory", "1000Mi"), member("c")}, want: "a", short: true,
		},
		"C41: not equal wants the property": {
			policy:  policy(pickN(placementv1.PlacementPolicy{Affinity: required(property("nodes", placementv1.PropertySelectorNotEqualTo, "3"))}), 1),
			members: members{having(member("a"), "nodes", "3"), having(member("b"), "nodes", "4"), member("c")}, want: "b",
		},
		"C41: resources are asked for by name": {
			policy: policy(pickN(placementv1.PlacementPolicy{Affinity: required(property(memberclusterv1.PropertyAvailableCPU, placementv1.PropertySelectorGreaterThanOrEqualTo, "2"))}), 1),
			members: members{member("a"), change(member("b"), func(m *memberclusterv1.MemberCluster) {
				m.Status.ResourceUsage.Available = corev1.ResourceList{corev1.ResourceCPU: *quantity("2500m")}
			})}, want: "b",
		},
		"C42: no more than the skew allows, by default 1": {
			policy:  policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 0, "")}}), 3),
			members: append(members{member("member4", "env=prod")}, three[0], three[2], member("member5", "env=canary"), member("member6")),
			want:    "member3 member4 member5", unpicked: map[string]string{"member1": "violated", "member6": "does not have the label"},
		},
		"C42: where the other domain is full, fewer are picked": {
			policy:  policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 1, placementv1.DoNotSchedule)}}), 4),
			members: append(members{member("member4", "env=prod")}, three...), want: "member2 member3 member4", short: true,
		},
		"C43: which is only a matter of the order": {
			policy:  policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 1, placementv1.ScheduleAnyway)}}), 4),
			members: append(members{member("member4", "env=prod")}, three...), want: "member1 member2 member3 member4",
		},
		"C43: who does not have its label comes last": {
			policy:  policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 1, placementv1.ScheduleAnyway)}}), 2),
			members: members{member("a", "env=prod"), member("b", "env=canary"), member("c")}, want: "a b",
		},
		"C44: all constraints have to hold": {
			policy: policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{
				spread("env", 1, placementv1.DoNotSchedule), spread("region", 1, placementv1.DoNotSchedule),
			}}), 2),
			members: members{member("a", "env=prod", "region=west"), member("b", "env=canary", "region=west"), member("c", "env=canary", "region=east"), member("d", "env=prod", "region=west")},
			want:    "c d",
		},
		"C45: the seed's sample": {
			policy:  policy(pickN(placementv1.PlacementPolicy{TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 1, placementv1.DoNotSchedule)}}), 2),
			members: three, want: "member2 member3",
		},
		"C47: the spread counts before the affinity": {
			policy: kept(policy(pickN(placementv1.PlacementPolicy{
				Affinity:                  preferred(placementv1.PreferredClusterSelector{Weight: 100, Preference: labelled("env", "prod")}),
				TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 5, placementv1.ScheduleAnyway)},
			}), 2), "member1"),
			members: three, want: "member1 member2",
		},
		"C47: then the affinity, then who has it, then the last name": {
			policy: policy(pickN(placementv1.PlacementPolicy{}), 2), members: three,
			bindings: []*placementv1.ClusterResourceBinding{binding("member1", placementv1.BindingStateBound)}, want: "member1 member3",
		},
		"C48: who leaves is not picked, nor kept": {
			policy: kept(policy(nil, -1), "b"), members: members{member("a"), leave(member("b"))}, want: "a", unpicked: map[string]string{"b": "leaving"},
		},
		"C49: nor who is silent for long": {
			policy: policy(nil, -1), members: members{member("a"), silent(member("b"), 5*time.Minute+time.Second)}, want: "a", unpicked: map[string]string{"b": "no heartbeat"},
		},
		"C49: nor, of those that another agent tells of, who sent no heartbeat for long": {
			policy: policy(nil, -1), members: members{member("a"), change(member("b"), func(m *memberclusterv1.MemberCluster) { m.Finalizers = nil })}, want: "a", unpicked: map[string]string{"b": "no heartbeat"},
		},
		"C49: who is picked already stays": {
			policy: kept(policy(nil, -1), "b"), members: members{member("a"), silent(member("b"), time.Hour)}, want: "a b",
		},
		"C51: a taint that is not tolerated": {
			policy: policy(nil, -1), members: members{member("a"), tainted(member("b"), "key", "value")}, want: "a",
			unpicked: map[string]string{"b": "taint key=value:NoSchedule, which is not tolerated"},
		},
		"C53: a taint that comes later evicts nobody": {
			policy: kept(policy(nil, -1), "b"), members: members{member("a"), tainted(member("b"), "key", "value")}, want: "a b",
		},
		"C53: nor does it with another policy": {
			policy: policy(pickAll(placementv1.PlacementPolicy{}), -1), members: members{tainted(member("b"), "key", "value")},
			bindings: []*placementv1.ClusterResourceBinding{binding("b", placementv1.BindingStateBound)}, want: "b",
		},
		"C54: who left is replaced": {
			policy: kept(policy(pickN(placementv1.PlacementPolicy{}), 2), "member9", "member1"), members: three, want: "member1 member3",
		},
		"C57: all taints have to be tolerated": {
			policy:  policy(pickAll(placementv1.PlacementPolicy{Tolerations: []placementv1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}}), -1),
			members: members{tainted(member("x"), "a", "1"), tainted(tainted(member("y"), "a", "1"), "b", "2")}, want: "x",
			unpicked: map[string]string{"y": "b=2"},
		},
		"C55: the operator is Equal by default": {
			policy:  policy(pickAll(placementv1.PlacementPolicy{Tolerations: []placementv1.Toleration{{Key: "a", Value: "1"}}}), -1),
			members: members{tainted(member("x"), "a", "1"), tainted(member("y"), "a", "2")}, want: "x",
		},
		"C56: an empty key tolerates all": {
			policy:  policy(pickAll(placementv1.PlacementPolicy{Tolerations: []placementv1.Toleration{{Operator: corev1.TolerationOpExists}}}), -1),
			members: members{tainted(tainted(member("y"), "a", "1"), "b", "2")}, want: "y",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Policy: tc.policy, Members: tc.members, Bindings: tc.bindings, Now: now})
			if diff := cmp.Diff(strings.Fields(tc.want), namesOf(d.Picked), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("picked (-want +got):\n%s", diff)
			}
			why := map[string]string{}
			for _, u := range d.Unpicked {
				why[u.ClusterName] = u.Reason
			}
			for who, part := range tc.unpicked {
				if !strings.Contains(why[who], part) {
					t.Errorf("%s: %q, want %q in it", who, why[who], part)
				}
			}
			if want := fulfilled(!tc.short); d.Condition != want {
				t.Errorf("condition %+v, want %+v", d.Condition, want)
			}
		})
	}
}

func namesOf(ds []placementv1.ClusterDecision) (names []string) {
	for _, d := range ds {
		names = append(names, d.ClusterName)
	}
	return names
}

func TestC40ScoresAreTold(t *testing.T) {
	p := policy(&placementv1.PlacementPolicy{
		PlacementType:             placementv1.PickNPlacementType,
		Affinity:                  preferred(placementv1.PreferredClusterSelector{Weight: 20, Preference: labelled("env", "prod")}),
		TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{spread("env", 1, placementv1.ScheduleAnyway)},
	}, 2)
	d := Decide(Input{Policy: p, Members: members{member("a", "env=prod"), member("b", "env=canary")}, Now: now})
	got := map[string]score{}
	for _, c := range d.Picked {
		got[c.ClusterName] = scoreOf(c)
	}
	want := map[string]score{"a": {spread: -1, affinity: 20}, "b": {spread: 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(score{})); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func TestC84AtMostTwentyReasons(t *testing.T) {
	p := policy(&placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType}, 50)
	d := Decide(Input{Policy: p, Members: fleet(100, 1, 1), Now: now})
	if len(d.Picked) != 50 || len(d.Unpicked) != 20 {
		t.Errorf("%d picked and %d reasons, want 50 and 20", len(d.Picked), len(d.Unpicked))
	}
}

func TestC84ReasonsFitBesideThosePicked(t *testing.T) {
	for name, tc := range map[string]struct{ picked, unpicked, want int }{
		"all fit":         {picked: 980, unpicked: 20, want: 1000},
		"some do":         {picked: 990, unpicked: 20, want: 1000},
		"none does":       {picked: 1000, unpicked: 20, want: 1000},
		"more are picked": {picked: 1001, unpicked: 20, want: 1001},
	} {
		d := Decision{Picked: make([]placementv1.ClusterDecision, tc.picked), Unpicked: make([]placementv1.ClusterDecision, tc.unpicked)}
		if got := len(d.Status(1).ClusterDecisions); got != tc.want {
			t.Errorf("%s: %d decisions, want %d", name, got, tc.want)
		}
	}
}
