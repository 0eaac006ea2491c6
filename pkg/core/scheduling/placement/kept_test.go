// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	placementv1 "sluice.dev/apis/placement/v1"
)

// noting is the binding as rollout writes it: with the decision, the name of the policy's
// snapshot, and the hash of the policy.
func noting(b *placementv1.ClusterResourceBinding, snapshot, hash string) *placementv1.ClusterResourceBinding {
	b.Spec.SchedulingPolicySnapshotName = snapshot
	b.Spec.ClusterDecision = placementv1.ClusterDecision{ClusterName: b.Spec.TargetCluster, Selected: true, Reason: ReasonPicked, ClusterScore: score{}.wire()}
	if hash != "" {
		b.Annotations = map[string]string{AnnotationPolicyHash: hash}
	}
	return b
}

// The snapshot of a policy that is deleted by hand is made anew, and says nothing of what
// was decided before: the bindings do.
func TestC34WhoNoLongerMatchesStaysWhereThePolicysSnapshotIsMadeAnew(t *testing.T) {
	prod := &placementv1.PlacementPolicy{PlacementType: placementv1.PickAllPlacementType, Affinity: required(labelled("env", "prod"))}
	two := &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType, Affinity: required(labelled("env", "prod"))}
	bound := func(hash, snapshot string, clusters ...string) (all []*placementv1.ClusterResourceBinding) {
		for _, c := range clusters {
			all = append(all, noting(binding(c, placementv1.BindingStateBound), snapshot, hash))
		}
		return all
	}
	changed := func(all []*placementv1.ClusterResourceBinding, how func(*placementv1.ClusterResourceBinding)) []*placementv1.ClusterResourceBinding {
		for _, b := range all {
			how(b)
		}
		return all
	}
	for name, tc := range map[string]struct {
		policy   *placementv1.PlacementPolicy
		number   int // of members that PickN wants
		decided  bool
		members  members
		bindings []*placementv1.ClusterResourceBinding
		want     string
	}{
		"its label is gone":                            {bindings: bound("hash", "shop-0", "member2"), want: "member1 member2"},
		"and the snapshot had another index":           {bindings: bound("hash", "shop-3", "member2"), want: "member1 member2"},
		"until the policy changes":                     {bindings: bound("another", "shop-0", "member2"), want: "member1"},
		"what the snapshot says counts for more":       {decided: true, bindings: bound("hash", "shop-0", "member2"), want: "member1"},
		"where no hash is noted, for the same name":    {bindings: bound("", "shop-0", "member2"), want: "member1 member2"},
		"but for no other name":                        {bindings: bound("", "shop-1", "member2"), want: "member1"},
		"not where it was given up":                    {bindings: changed(bound("hash", "shop-0", "member2"), func(b *placementv1.ClusterResourceBinding) { b.Spec.State = placementv1.BindingStateUnscheduled }), want: "member1"},
		"nor where it kept it for a misspelled label":  {bindings: changed(bound("hash", "shop-0", "member2"), func(b *placementv1.ClusterResourceBinding) { b.Spec.ClusterDecision.Reason = ReasonHeld }), want: "member1"},
		"nor where it leaves":                          {members: members{member("member1", "env=prod"), leave(member("member2"))}, bindings: bound("hash", "shop-0", "member2"), want: "member1"},
		"it is not healthy for long":                   {members: members{sick(member("member1", "env=prod"), time.Hour)}, bindings: bound("hash", "shop-0", "member1"), want: "member1"},
		"as many as are wanted by now are kept":        {policy: two, number: 1, bindings: bound("hash", "shop-0", "member1", "member2"), want: "member2"},
		"and others come to those that were kept":      {policy: two, number: 2, bindings: bound("hash", "shop-0", "member2"), want: "member1 member2"},
		"a new placement is decided by its policy":     {want: "member1"},
		"a binding that says no decision tells nobody": {bindings: changed(bound("hash", "shop-0", "member2"), func(b *placementv1.ClusterResourceBinding) { b.Spec.ClusterDecision = placementv1.ClusterDecision{} }), want: "member1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(prod, -1)
			if tc.policy != nil {
				p = policy(tc.policy, tc.number)
			}
			p.Spec.PolicyHash = []byte("hash")
			if tc.decided {
				p.Status.Conditions = append(p.Status.Conditions, fulfilled(true))
			}
			in := Input{Policy: p, Members: members{member("member1", "env=prod"), member("member2", "env=canary")}, Bindings: tc.bindings, Now: now}
			if tc.members != nil {
				in.Members = tc.members
			}
			if diff := cmp.Diff(strings.Fields(tc.want), namesOf(Decide(in).Picked), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("picked (-want +got):\n%s", diff)
			}
		})
	}
}
