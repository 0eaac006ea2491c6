// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// A member that is evicted is picked as if it never had been; and it is not picked in spite
// of a taint, as others are that have the placement, for as long as it still has it.
func TestC53AnEvictedMemberIsPickedAnew(t *testing.T) {
	all := &placementv1.PlacementPolicy{PlacementType: placementv1.PickAllPlacementType}
	some := &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType}
	away := tainted(member("member2"), "key", "value")
	for name, tc := range map[string]struct {
		policy  *placementv1.PlacementPolicy
		number  int
		members []*memberclusterv1.MemberCluster
		want    string
	}{
		"PickAll leaves it out if it is tainted":           {policy: all, number: -1, members: []*memberclusterv1.MemberCluster{member("member1"), away}, want: "member1"},
		"PickAll picks it again if nothing speaks against": {policy: all, number: -1, members: []*memberclusterv1.MemberCluster{member("member1"), member("member2")}, want: "member1 member2"},
		"PickN takes another one for it":                   {policy: some, number: 2, members: []*memberclusterv1.MemberCluster{member("member1"), away, member("member3")}, want: "member1 member3"},
		"PickN has one less if there is no other":          {policy: some, number: 2, members: []*memberclusterv1.MemberCluster{member("member1"), away}, want: "member1"},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Policy: policy(tc.policy, tc.number), Members: tc.members, Now: now}
			in.Policy.Status.Conditions = append(in.Policy.Status.Conditions, fulfilled(true))
			for _, m := range []string{"member1", "member2"} {
				in.Policy.Status.ClusterDecisions = append(in.Policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: m, Selected: true, Reason: ReasonPicked})
				b := &placementv1.ClusterResourceBinding{}
				b.Spec.TargetCluster, b.Spec.State = m, placementv1.BindingStateBound
				in.Bindings = append(in.Bindings, b)
			}
			if got := namesOf(Decide(in).Picked); strings.Join(got, " ") != "member1 member2" {
				t.Fatalf("a taint alone: picked %v", got)
			}
			in.Evicted = map[string]bool{"member2": true}
			for _, when := range []string{"evicted", "asked again, before it has lost anything"} {
				d := Decide(in)
				if diff := cmp.Diff(strings.Fields(tc.want), namesOf(d.Picked), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: picked (-want +got):\n%s", when, diff)
				}
				in.Evicted = nil
				in.Policy.Status.ClusterDecisions = d.Status(1).ClusterDecisions
			}
		})
	}
}
