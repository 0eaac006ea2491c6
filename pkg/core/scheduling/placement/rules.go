// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/scheduling/filters"
)

// rule says why a member may not be picked, as what is said of it; empty: it may.
type rule func(*memberclusterv1.MemberCluster) string

// Silence is how long a member may be silent, or unhealthy, and still be picked.
const Silence = 5 * time.Minute

// leaving keeps placements out of a member that is being unjoined.
func leaving(m *memberclusterv1.MemberCluster) string {
	if m.DeletionTimestamp != nil {
		return "is leaving the fleet"
	}
	return ""
}

// connected keeps placements out of a member that has not joined yet, was not heard
// of for long, or is not healthy for long. That is read off the condition Healthy and
// not off the time of the last heartbeat, which Sluice does not write while nothing
// changes. Of a MemberCluster that another agent tells of, the heartbeat counts.
// No time is told that would differ each time that it is asked for.
func connected(now time.Time) rule {
	return func(m *memberclusterv1.MemberCluster) string {
		agent := m.Status.Agent(memberclusterv1.MemberAgent)
		if agent == nil {
			return "is not connected to the fleet: it was not heard of yet"
		}
		if !meta.IsStatusConditionTrue(agent.Conditions, memberclusterv1.ConditionJoined) {
			return "is not connected to the fleet: it has not joined yet"
		}
		healthy := meta.FindStatusCondition(agent.Conditions, memberclusterv1.ConditionHealthy)
		switch {
		case healthy == nil:
			return "is not connected to the fleet: nothing is known of its health"
		case foreign(m) && !agent.LastReceivedHeartbeat.IsZero() && now.Sub(agent.LastReceivedHeartbeat.Time) > Silence:
			return noHeartbeat
		case healthy.Status == metav1.ConditionTrue || now.Sub(healthy.LastTransitionTime.Time) <= Silence:
			return ""
		case healthy.Status == metav1.ConditionUnknown:
			return noHeartbeat
		}
		return fmt.Sprintf("is not connected to the fleet: not healthy for more than %s", minutes(Silence))
	}
}

var noHeartbeat = fmt.Sprintf("is not connected to the fleet: no heartbeat for more than %s", minutes(Silence))

// foreign tells whether somebody else than Sluice tells of the member: it has no
// Cluster, and so lacks the finalizer of those that have.
func foreign(m *memberclusterv1.MemberCluster) bool {
	return !slices.Contains(m.Finalizers, memberclusterv1.Finalizer)
}

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

// tainted keeps placements out of a member with a taint that is not tolerated. One
// that has the placement, and was not given up, keeps it.
func (s *surveyed) tainted() rule {
	untolerated := s.untolerated()
	return func(m *memberclusterv1.MemberCluster) string {
		if s.had[m.Name] && !s.gone[m.Name] {
			return ""
		}
		return untolerated(m)
	}
}

// untolerated is tainted for members that do not have the placement.
func (s *surveyed) untolerated() rule {
	tolerations := make([]corev1.Toleration, len(s.policy.Tolerations))
	for i, t := range s.policy.Tolerations {
		tolerations[i] = corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
	}
	return func(m *memberclusterv1.MemberCluster) string {
		for _, t := range m.Spec.Taints {
			taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
			if !filters.Tolerated(taint, tolerations) {
				return filters.NotTolerated(taint)
			}
		}
		return ""
	}
}

// required is the rule of the required affinity.
func (s *surveyed) required() rule {
	var selector *placementv1.ClusterSelector
	if a := s.affinity(); a != nil {
		selector = a.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if selector == nil || len(selector.ClusterSelectorTerms) == 0 {
		return func(*memberclusterv1.MemberCluster) string { return "" }
	}
	terms := make([]term, len(selector.ClusterSelectorTerms))
	for i, t := range selector.ClusterSelectorTerms {
		terms[i] = compile(t)
	}
	return func(m *memberclusterv1.MemberCluster) string {
		for _, t := range terms {
			if t.matches(m) {
				return ""
			}
		}
		return "does not match with any of the required cluster affinity terms"
	}
}

func (s *surveyed) affinity() *placementv1.ClusterAffinity {
	if s.policy.Affinity == nil {
		return nil
	}
	return s.policy.Affinity.ClusterAffinity
}
