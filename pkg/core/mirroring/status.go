// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	"sluice.dev/pkg/core/conditions"
)

// noteworthy is the change of the available resources that is worth a write: one part
// in so many of the allocatable ones.
const noteworthy = 20

// Observation is what is known of a member.
type Observation struct {
	// Failure is why the member is not healthy; empty if it is.
	Failure string
	// Version of its API server; empty: not known.
	Version string
	// Usage of its nodes; nil: not known.
	Usage *Usage
	// Seen is when it was last healthy; zero: not known.
	Seen time.Time
}

// Usage adds up the nodes of a member.
type Usage struct {
	Nodes                 int
	Capacity, Allocatable corev1.ResourceList
	// Available is nil where it could not be counted.
	Available corev1.ResourceList
}

// Status returns the status of a MemberCluster at that generation, and whether it
// differs from old.
func Status(old memberclusterv1.MemberClusterStatus, generation int64, o Observation, now time.Time) (memberclusterv1.MemberClusterStatus, bool) {
	s := *old.DeepCopy()
	s.Conditions = health(ready(s.Conditions, generation, now), generation, o, now)
	agent := s.Agent(memberclusterv1.MemberAgent)
	if agent == nil {
		s.AgentStatus = append(s.AgentStatus, memberclusterv1.AgentStatus{Type: memberclusterv1.MemberAgent})
		agent = s.Agent(memberclusterv1.MemberAgent)
	}
	agent.Conditions = health(agent.Conditions, 0, o, now)
	if o.Failure == "" {
		s.Properties = properties(s.Properties, o, now)
		s.ResourceUsage = usage(s.ResourceUsage, o.Usage, now)
	}
	if same(&old, &s) {
		return old, false
	}
	if o.Failure == "" {
		o.Seen = now
	}
	if o.Seen.After(agent.LastReceivedHeartbeat.Time) {
		agent.LastReceivedHeartbeat = metav1.NewTime(o.Seen)
	}
	return s, true
}

func ready(list []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	list, _ = conditions.Set(list, metav1.Condition{
		Type: memberclusterv1.ConditionReadyToJoin, Status: metav1.ConditionTrue, Reason: memberclusterv1.ReasonReadyToJoin,
		Message: "the hub has a namespace for what the member gets", ObservedGeneration: generation,
	}, now)
	return list
}

// health returns list with the conditions Joined and Healthy. While a member stays
// unhealthy, the first reason is kept.
func health(list []metav1.Condition, generation int64, o Observation, now time.Time) []metav1.Condition {
	list, _ = conditions.Set(list, metav1.Condition{
		Type: memberclusterv1.ConditionJoined, Status: metav1.ConditionTrue, Reason: memberclusterv1.ReasonJoined,
		Message: "the member takes part", ObservedGeneration: generation,
	}, now)
	c := metav1.Condition{
		Type: memberclusterv1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: memberclusterv1.ReasonHealthy,
		Message: "the member answers and can be written to", ObservedGeneration: generation,
	}
	if o.Failure != "" {
		if conditions.Is(list, c.Type, metav1.ConditionFalse) {
			return list
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, memberclusterv1.ReasonUnhealthy, o.Failure
	}
	list, _ = conditions.Set(list, c, now)
	return list
}

func properties(old map[memberclusterv1.PropertyName]memberclusterv1.PropertyValue, o Observation, now time.Time) map[memberclusterv1.PropertyName]memberclusterv1.PropertyValue {
	next := maps.Clone(old)
	if next == nil {
		next = map[memberclusterv1.PropertyName]memberclusterv1.PropertyValue{}
	}
	set := func(name memberclusterv1.PropertyName, value string) {
		if value != "" && next[name].Value != value {
			next[name] = memberclusterv1.PropertyValue{Value: value, ObservationTime: metav1.NewTime(now)}
		}
	}
	set(memberclusterv1.PropertyKubernetesVersion, o.Version)
	if o.Usage != nil {
		set(memberclusterv1.PropertyNodeCount, strconv.Itoa(o.Usage.Nodes))
	}
	if len(next) == 0 {
		return old
	}
	return next
}

func usage(old memberclusterv1.ResourceUsage, u *Usage, now time.Time) memberclusterv1.ResourceUsage {
	if u == nil || equal(old.Capacity, u.Capacity) && equal(old.Allocatable, u.Allocatable) && near(old.Available, u.Available, u.Allocatable) {
		return old
	}
	next := memberclusterv1.ResourceUsage{Capacity: u.Capacity, Allocatable: u.Allocatable, Available: u.Available, ObservationTime: metav1.NewTime(now)}
	if next.Available == nil {
		next.Available = old.Available
	}
	return next
}

// Summary returns what a Cluster says of its member's resources, and whether that is not
// what it says already. Like that of the MemberCluster it follows a small change of the
// load only when it grows.
func Summary(old *clusterv1alpha1.ResourceSummary, u *Usage) (*clusterv1alpha1.ResourceSummary, bool) {
	if u == nil {
		return old, false
	}
	next := &clusterv1alpha1.ResourceSummary{}
	if old != nil {
		next = old.DeepCopy()
	}
	load := minus(u.Allocatable, u.Available)
	if u.Available == nil {
		load = next.Allocated
	}
	if equal(next.Allocatable, u.Allocatable) && near(minus(u.Allocatable, next.Allocated), u.Available, u.Allocatable) && (len(next.Allocated) > 0 || len(load) == 0) {
		return old, false
	}
	next.Allocatable, next.Allocated = u.Allocatable, load
	return next, true
}

// minus is what some leaves of all.
func minus(all, some corev1.ResourceList) corev1.ResourceList {
	left := all.DeepCopy()
	for name, q := range left {
		q.Sub(some[name])
		left[name] = q
	}
	return left
}

func equal(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// near reports whether the available resources are so close to old that they need not
// be written.
func near(old, available, allocatable corev1.ResourceList) bool {
	if available == nil {
		return true
	}
	for name, all := range allocatable {
		was, known := old[name]
		is := available[name]
		apart := is.DeepCopy()
		apart.Sub(was)
		if apart.Sign() < 0 {
			apart.Neg()
		}
		switch {
		case apart.Sign() == 0 && known:
		case !known, is.Sign() == 0, was.Sign() == 0, apart.AsApproximateFloat64()*noteworthy >= all.AsApproximateFloat64():
			return false
		}
	}
	return true
}

// same tells whether two statuses say the same, whenever it was seen.
func same(a, b *memberclusterv1.MemberClusterStatus) bool {
	return slices.Equal(a.Conditions, b.Conditions) && maps.Equal(a.Properties, b.Properties) &&
		equal(a.ResourceUsage.Capacity, b.ResourceUsage.Capacity) && equal(a.ResourceUsage.Allocatable, b.ResourceUsage.Allocatable) &&
		equal(a.ResourceUsage.Available, b.ResourceUsage.Available) &&
		slices.EqualFunc(a.AgentStatus, b.AgentStatus, func(x, y memberclusterv1.AgentStatus) bool {
			return x.Type == y.Type && slices.Equal(x.Conditions, y.Conditions)
		})
}
