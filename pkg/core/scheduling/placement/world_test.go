// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// member is healthy; its labels are given as "env=prod".
func member(name string, labels ...string) *memberclusterv1.MemberCluster {
	m := &memberclusterv1.MemberCluster{}
	m.Name, m.Labels, m.Finalizers = name, map[string]string{}, []string{memberclusterv1.Finalizer}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		m.Labels[key] = value
	}
	condition := func(of string) metav1.Condition {
		return metav1.Condition{Type: of, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
	}
	m.Status.AgentStatus = []memberclusterv1.AgentStatus{{
		Type: memberclusterv1.MemberAgent, LastReceivedHeartbeat: metav1.NewTime(now.Add(-time.Hour)), // not written while nothing changes
		Conditions: []metav1.Condition{condition(memberclusterv1.ConditionJoined), condition(memberclusterv1.ConditionHealthy)},
	}}
	return m
}

func change(m *memberclusterv1.MemberCluster, how func(*memberclusterv1.MemberCluster)) *memberclusterv1.MemberCluster {
	how(m)
	return m
}

func tainted(m *memberclusterv1.MemberCluster, key, value string) *memberclusterv1.MemberCluster {
	m.Spec.Taints = append(m.Spec.Taints, memberclusterv1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
	return m
}

func leave(m *memberclusterv1.MemberCluster) *memberclusterv1.MemberCluster {
	at := metav1.NewTime(now)
	m.DeletionTimestamp = &at
	return m
}

func sick(m *memberclusterv1.MemberCluster, since time.Duration) *memberclusterv1.MemberCluster {
	c := &m.Status.AgentStatus[0].Conditions[1]
	c.Status, c.LastTransitionTime = metav1.ConditionFalse, metav1.NewTime(now.Add(-since))
	return m
}

func silent(m *memberclusterv1.MemberCluster, since time.Duration) *memberclusterv1.MemberCluster {
	c := &m.Status.AgentStatus[0].Conditions[1]
	c.Status, c.LastTransitionTime = metav1.ConditionUnknown, metav1.NewTime(now.Add(-since))
	return m
}

func having(m *memberclusterv1.MemberCluster, property, value string) *memberclusterv1.MemberCluster {
	m.Status.Properties = map[memberclusterv1.PropertyName]memberclusterv1.PropertyValue{memberclusterv1.PropertyName(property): {Value: value}}
	return m
}

// policy is its snapshot; n < 0: it wants no number.
func policy(p *placementv1.PlacementPolicy, n int) *placementv1.ClusterSchedulingPolicySnapshot {
	s := &placementv1.ClusterSchedulingPolicySnapshot{Spec: placementv1.SchedulingPolicySnapshotSpec{Policy: p}}
	s.Name, s.Annotations = "shop-0", map[string]string{placementv1.AnnotationCRPGeneration: "3"}
	if n >= 0 {
		s.Annotations[placementv1.AnnotationNumberOfClusters] = strconv.Itoa(n)
	}
	return s
}

// after is the snapshot as it says what was decided before.
func after(s *placementv1.ClusterSchedulingPolicySnapshot, d Decision) *placementv1.ClusterSchedulingPolicySnapshot {
	next := s.DeepCopy()
	next.Status = d.Status(Generation(s))
	return next
}

func kept(s *placementv1.ClusterSchedulingPolicySnapshot, names ...string) *placementv1.ClusterSchedulingPolicySnapshot {
	for _, n := range names {
		s.Status.ClusterDecisions = append(s.Status.ClusterDecisions, placementv1.ClusterDecision{
			ClusterName: n, Selected: true, ClusterScore: score{}.wire(), Reason: ReasonPicked,
		})
	}
	return s
}

func binding(cluster string, state placementv1.BindingState) *placementv1.ClusterResourceBinding {
	b := &placementv1.ClusterResourceBinding{}
	b.Name, b.Spec.TargetCluster, b.Spec.State = BindingName("shop", cluster, ""), cluster, state
	return b
}

func required(terms ...placementv1.ClusterSelectorTerm) *placementv1.Affinity {
	return &placementv1.Affinity{ClusterAffinity: &placementv1.ClusterAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &placementv1.ClusterSelector{ClusterSelectorTerms: terms},
	}}
}

func preferred(ps ...placementv1.PreferredClusterSelector) *placementv1.Affinity {
	return &placementv1.Affinity{ClusterAffinity: &placementv1.ClusterAffinity{PreferredDuringSchedulingIgnoredDuringExecution: ps}}
}

func labelled(key, value string) placementv1.ClusterSelectorTerm {
	return placementv1.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

func spread(key string, skew int32, when placementv1.UnsatisfiableConstraintAction) placementv1.TopologySpreadConstraint {
	t := placementv1.TopologySpreadConstraint{TopologyKey: key, WhenUnsatisfiable: when}
	if skew > 0 {
		t.MaxSkew = &skew
	}
	return t
}

// fleet of n members in so many regions and environments.
func fleet(n, regions, envs int) []*memberclusterv1.MemberCluster {
	out := make([]*memberclusterv1.MemberCluster, n)
	for i := range out {
		out[i] = member(fmt.Sprintf("member%04d", i), fmt.Sprintf("region=r%d", i%regions), fmt.Sprintf("env=e%d", i%envs))
	}
	return out
}
