// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// What the condition Scheduled and the decisions say.
const (
	MessageFulfilled   = "found all the clusters needed as specified by the scheduling policy"
	MessageUnfulfilled = "could not find all the clusters needed as specified by the scheduling policy"
	ReasonPicked       = "picked by scheduling policy"
)

// maxUnpicked is how many members that are not picked have their reason told.
const maxUnpicked = 20

// Input is all that a decision depends on.
type Input struct {
	// Policy is the latest snapshot of the placement's policy, with what was
	// decided by it before.
	Policy *placementv1.ClusterSchedulingPolicySnapshot
	// Members are all that have joined, in any order.
	Members []*memberclusterv1.MemberCluster
	// Bindings are the placement's, in any order.
	Bindings []*placementv1.ClusterResourceBinding
	// Evicted are members that are given up, and picked as if they never had been, if at all.
	Evicted map[string]bool
	Now     time.Time
}

// Decision is where the placement goes.
type Decision struct {
	// Picked are the decisions for the members that are picked, by name.
	Picked []placementv1.ClusterDecision
	// Unpicked are those for the others, the best first, at most twenty of them.
	Unpicked []placementv1.ClusterDecision
	// Condition is Scheduled. Its time and its generation are the caller's.
	Condition metav1.Condition
}

// Decide picks the members.
func Decide(in Input) Decision {
	s := survey(in)
	switch s.policy.Type() {
	case placementv1.PickFixedPlacementType:
		return s.pickFixed()
	case placementv1.PickNPlacementType:
		return s.checkLabels(s.pickN(wanted(in.Policy)))
	}
	return s.checkLabels(s.pickAll())
}

// maxDecisions is how many decisions the snapshot of a policy holds.
const maxDecisions = 1000

// Status is what the snapshot of the policy says of the decision, but for the
// condition. All clusters that are picked are in it, and as many others as fit.
func (d Decision) Status(generation int64) placementv1.SchedulingPolicySnapshotStatus {
	return placementv1.SchedulingPolicySnapshotStatus{
		ObservedCRPGeneration: generation,
		ClusterDecisions:      append(slices.Clone(d.Picked), d.Unpicked[:min(len(d.Unpicked), max(maxDecisions-len(d.Picked), 0))]...),
	}
}

// Generation returns the generation of the placement that the snapshot of its policy is
// for; 0 where the snapshot does not say.
func Generation(s *placementv1.ClusterSchedulingPolicySnapshot) int64 {
	n, err := strconv.ParseInt(s.Annotations[placementv1.AnnotationCRPGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// wanted is how many members PickN wants.
func wanted(s *placementv1.ClusterSchedulingPolicySnapshot) int {
	n, err := strconv.Atoi(s.Annotations[placementv1.AnnotationNumberOfClusters])
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// candidate is a member that may be picked.
type candidate struct {
	member *memberclusterv1.MemberCluster
	// had says that it has the placement, by an earlier form of the policy.
	had bool
	score
}

// score is what candidates are compared by.
type score struct{ spread, affinity int32 }

func (s score) wire() *placementv1.ClusterScore {
	spread := s.spread
	return &placementv1.ClusterScore{AffinityScore: &s.affinity, TopologySpreadScore: &s.spread, PriorityScore: &spread}
}

// scoreOf is what a decision says.
func scoreOf(d placementv1.ClusterDecision) (s score) {
	if d.ClusterScore == nil {
		return s
	}
	if d.ClusterScore.AffinityScore != nil {
		s.affinity = *d.ClusterScore.AffinityScore
	}
	if d.ClusterScore.TopologySpreadScore != nil {
		s.spread = *d.ClusterScore.TopologySpreadScore
	}
	return s
}

// compare orders scores, the higher first.
func (s score) compare(o score) int {
	return cmp.Or(cmp.Compare(o.spread, s.spread), cmp.Compare(o.affinity, s.affinity))
}

// better orders candidates, the best first.
func better(a, b *candidate) int {
	return cmp.Or(a.compare(b.score), compareHad(a, b), ranked(a, b))
}

func compareHad(a, b *candidate) int {
	switch {
	case a.had == b.had:
		return 0
	case a.had:
		return -1
	}
	return 1
}

func picked(c *candidate) placementv1.ClusterDecision {
	return placementv1.ClusterDecision{ClusterName: c.member.Name, Selected: true, ClusterScore: c.wire(), Reason: ReasonPicked}
}

// fulfilled is the condition.
func fulfilled(yes bool) metav1.Condition {
	c := metav1.Condition{
		Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue,
		Reason: placementv1.ReasonSchedulingPolicyFulfilled, Message: MessageFulfilled,
	}
	if !yes {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, placementv1.ReasonSchedulingPolicyUnfulfilled, MessageUnfulfilled
	}
	return c
}
