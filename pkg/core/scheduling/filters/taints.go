// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

import (
	corev1 "k8s.io/api/core/v1"
)

// Taints keeps a template out of a cluster with a taint that it does not
// tolerate: NoSchedule or NoExecute. A template that is in the cluster already
// stays: whether NoExecute drives it out, and when, is the evictor's decision.
func Taints(in Input) string {
	if scheduled(in) {
		return ""
	}
	var tolerations []corev1.Toleration
	if in.Binding.Spec.Placement != nil {
		tolerations = in.Binding.Spec.Placement.ClusterTolerations
	}
	for _, taint := range in.Cluster.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || Tolerated(taint, tolerations) {
			continue
		}
		return NotTolerated(taint)
	}
	return ""
}

// NotTolerated is what is said of a cluster with a taint that keeps it from being
// chosen.
func NotTolerated(taint corev1.Taint) string {
	return "has the taint " + taint.ToString() + ", which is not tolerated"
}

// Tolerated tells whether one of the tolerations lets the taint pass.
func Tolerated(taint corev1.Taint, tolerations []corev1.Toleration) bool {
	for _, t := range tolerations {
		if tolerates(t, taint) {
			return true
		}
	}
	return false
}

// tolerates: an empty effect means all effects, an empty key (with Exists) all
// keys, an empty operator Equal.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return t.Key != "" && t.Value == taint.Value
	}
	return false
}
