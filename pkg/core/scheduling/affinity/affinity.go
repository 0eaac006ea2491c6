// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package affinity tells whether a cluster satisfies a ClusterAffinity. One
// meaning serves the placement of a policy, the static weights and the target
// of an override.
//
// Invariants:
//   - Every part that is set must hold; a nil affinity, and an empty part, ask
//     for nothing.
//   - What cannot be understood holds for no cluster, and says so.
//   - Every "no" is a predicate for people: "is excluded".
//
// It must not know what the affinity is used for.
package affinity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// Matches tells whether the cluster satisfies the affinity.
func Matches(a *policyv1alpha1.ClusterAffinity, c *clusterv1alpha1.Cluster) bool {
	return Mismatch(a, c) == ""
}

// Mismatch is why the cluster does not satisfy the affinity, as what is said of
// it; empty where it does.
func Mismatch(a *policyv1alpha1.ClusterAffinity, c *clusterv1alpha1.Cluster) string {
	switch {
	case a == nil:
		return ""
	case slices.Contains(a.ExcludeClusters, c.Name):
		return "is excluded"
	case len(a.ClusterNames) > 0 && !slices.Contains(a.ClusterNames, c.Name):
		return "is not in clusterNames"
	}
	if why := labelMismatch(a.LabelSelector, c); why != "" {
		return why
	}
	return fieldMismatch(a.FieldSelector, c)
}

func labelMismatch(s *metav1.LabelSelector, c *clusterv1alpha1.Cluster) string {
	if s == nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "cannot be selected by the invalid labelSelector: " + err.Error()
	}
	if !selector.Matches(labels.Set(c.Labels)) {
		return "does not match the labelSelector"
	}
	return ""
}

func fieldMismatch(s *policyv1alpha1.FieldSelector, c *clusterv1alpha1.Cluster) string {
	if s == nil {
		return ""
	}
	for _, e := range s.MatchExpressions {
		values, known := field(e.Key, c)
		switch {
		case !known:
			return "cannot be selected by the unknown field " + e.Key
		case !holds(e, values):
			return "does not match the fieldSelector for " + e.Key
		}
	}
	return ""
}

// field is the cluster's values of a field: none where it is not set.
func field(key string, c *clusterv1alpha1.Cluster) (values []string, known bool) {
	one := func(v string) []string {
		if v == "" {
			return nil
		}
		return []string{v}
	}
	switch key {
	case "provider":
		return one(c.Spec.Provider), true
	case "region":
		return one(c.Spec.Region), true
	case "zone":
		return c.Spec.ZoneNames(), true
	}
	return nil, false
}

// holds evaluates one expression. A cluster in several zones is In only if all
// of them are listed (its pods may run in any), and NotIn only if none is.
func holds(e corev1.NodeSelectorRequirement, values []string) bool {
	listed := func(v string) bool { return slices.Contains(e.Values, v) }
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !listed(v) })
	case corev1.NodeSelectorOpNotIn:
		return !slices.ContainsFunc(values, listed)
	}
	return false
}
