// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package mirroring decides what a MemberCluster says: a member has a Cluster,
// which is how it is reached and what policies see, and a MemberCluster, which is
// what placements see.
//
// Invariants:
//   - Labels and taints of the Cluster are copied to the MemberCluster, unless it has
//     one of its own with that key. An annotation there lists the copies, so that a
//     copy is removed with its original, and what people added is left alone.
//   - Nothing is copied from the MemberCluster to the Cluster.
//   - Where nothing changed, nothing is written. Another heartbeat of a healthy member
//     is no change, and neither is a small change of its load.
//   - What is not known is left as it was.
package mirroring

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
)

const (
	// AnnotationMirrored, on a MemberCluster, notes what came from the Cluster.
	AnnotationMirrored = "sluice.dev/mirrored"
	// AnnotationLeft, on a Cluster, records that somebody deleted its MemberCluster:
	// placements ignore the cluster until the annotation is removed or somebody creates
	// the MemberCluster again.
	AnnotationLeft = "sluice.dev/left-placements"
	// AnnotationClusterGone, on a MemberCluster, says that Sluice deletes it because its
	// Cluster is gone: so nobody asked for it, also if the Cluster is made anew meanwhile.
	AnnotationClusterGone = "sluice.dev/cluster-gone"
	// AnnotationClusterUID, on a MemberCluster, is the uid of the Cluster that it was made
	// for, or brought up to.
	AnnotationClusterUID = "sluice.dev/cluster-uid"
	// identityPrefix starts the name of a member's user, which has no rights.
	identityPrefix = "sluice.dev:member:"
	// defaultHeartbeat is the released default, in seconds.
	defaultHeartbeat = 60
)

// Left returns since when placements ignore the cluster because somebody deleted its
// MemberCluster; false if they do not.
func Left(c *clusterv1alpha1.Cluster) (since string, left bool) {
	if c == nil {
		return "", false
	}
	since, left = c.Annotations[AnnotationLeft]
	return since, left
}

// Deleted reports whether m, which is being deleted, was deleted as that of the Cluster,
// and not of a former one of its name. Times alone do not tell that: they are in seconds.
func Deleted(m *memberclusterv1.MemberCluster, c *clusterv1alpha1.Cluster) bool {
	return m.Annotations[AnnotationClusterUID] == string(c.UID) || m.DeletionTimestamp.After(c.CreationTimestamp.Time)
}

// mirrored is what AnnotationMirrored holds.
type mirrored struct {
	Labels map[string]string       `json:"labels,omitempty"`
	Taints []memberclusterv1.Taint `json:"taints,omitempty"`
}

// Member is the MemberCluster that belongs to c: m with what c says, or a new
// one where there is none yet.
func Member(c *clusterv1alpha1.Cluster, m *memberclusterv1.MemberCluster) *memberclusterv1.MemberCluster {
	if m == nil {
		m = &memberclusterv1.MemberCluster{}
		m.Name = c.Name
		m.Spec.Identity = rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: identityPrefix + c.Name}
		m.Spec.HeartbeatPeriodSeconds = defaultHeartbeat
	} else {
		m = m.DeepCopy()
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	delete(m.Annotations, AnnotationClusterGone)
	m.Annotations[AnnotationClusterUID] = string(c.UID)
	if !slices.Contains(m.Finalizers, memberclusterv1.Finalizer) {
		m.Finalizers = append(m.Finalizers, memberclusterv1.Finalizer)
	}
	// An annotation that cannot be decoded counts as none: then everything there was added
	// by people.
	var was, is mirrored
	_ = json.Unmarshal([]byte(m.Annotations[AnnotationMirrored]), &was)
	m.Labels, is.Labels = labels(c.Labels, m.Labels, was.Labels)
	m.Spec.Taints, is.Taints = taints(mirror(c.Spec.Taints), m.Spec.Taints, was.Taints)
	note, err := json.Marshal(is)
	if err == nil && (len(is.Labels)+len(is.Taints) > 0 || m.Annotations[AnnotationMirrored] != "") {
		m.Annotations[AnnotationMirrored] = string(note)
	}
	return m
}

// Present are the members with what their Clusters say now, in the same order: a label
// of a Cluster counts from the moment that it is written, not only once it is mirrored.
// What a placement picked stays, so it must not be picked by labels of before.
// A member without a Cluster, or that is being deleted, is as it stands.
func Present(members []*memberclusterv1.MemberCluster, clusters []*clusterv1alpha1.Cluster) []*memberclusterv1.MemberCluster {
	of := make(map[string]*clusterv1alpha1.Cluster, len(clusters))
	for _, c := range clusters {
		of[c.Name] = c
	}
	out := make([]*memberclusterv1.MemberCluster, 0, len(members))
	for _, m := range members {
		if c := of[m.Name]; c != nil && m.DeletionTimestamp == nil {
			m = Member(c, m)
		}
		out = append(out, m)
	}
	return out
}

// Orphaned returns the MemberCluster as one whose Cluster is gone.
func Orphaned(m *memberclusterv1.MemberCluster) *memberclusterv1.MemberCluster {
	next := m.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[AnnotationClusterGone] = "true"
	return next
}

// Released returns the MemberCluster without Sluice's finalizer, so that its deletion
// can complete.
func Released(m *memberclusterv1.MemberCluster) *memberclusterv1.MemberCluster {
	next := m.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == memberclusterv1.Finalizer })
	return next
}

// labels merges the labels c of the Cluster into own, those of the MemberCluster. Of
// own, was are the copies made before; is are the copies made now.
func labels(c, own, was map[string]string) (merged, is map[string]string) {
	merged, is = maps.Clone(own), map[string]string{}
	if merged == nil {
		merged = map[string]string{}
	}
	for key, value := range was {
		if merged[key] == value {
			delete(merged, key)
		}
	}
	for key, value := range c {
		if _, theirs := merged[key]; !theirs {
			merged[key], is[key] = value, value
		}
	}
	return merged, is
}

// taints does the same as labels, for taints by key.
func taints(c, own, was []memberclusterv1.Taint) (merged, is []memberclusterv1.Taint) {
	for _, t := range own {
		if !slices.Contains(was, t) {
			merged = append(merged, t)
		}
	}
	for _, t := range c {
		if !slices.ContainsFunc(merged, func(o memberclusterv1.Taint) bool { return o.Key == t.Key }) {
			merged, is = append(merged, t), append(is, t)
		}
	}
	return merged, is
}

// mirror converts the taints of a Cluster for its MemberCluster. Placements know the
// effect NoSchedule only, and see from a condition, not from a taint, that a member is
// unhealthy.
func mirror(all []corev1.Taint) []memberclusterv1.Taint {
	var known []memberclusterv1.Taint
	for _, t := range all {
		if t.Effect == corev1.TaintEffectPreferNoSchedule || t.Key == clusterv1alpha1.TaintClusterNotReady || t.Key == clusterv1alpha1.TaintClusterUnreachable {
			continue
		}
		known = append(known, memberclusterv1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffectNoSchedule})
	}
	return known
}
