// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
)

// workload is a kind that has pods run by a template, and whose status counts them and
// says which generation it is of. Its health is told by the counts.
func workload(health func(map[string]any) Health, counts ...string) Kind {
	return Kind{
		reports: append([]string{observedGeneration}, counts...), health: health, total: sums(counts...), refers: refersByTemplate,
	}
}

func scalable(k Kind) Kind {
	k.replicas = "replicas"
	return k
}

func refersByTemplate(c *collector, obj map[string]any) {
	if t := child(obj, "spec", "template"); child(t, "spec") != nil {
		c.pod(t)
	}
}

var deployment = func() Kind {
	k := scalable(workload(deploymentHealth, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"))
	k.prune = func(obj map[string]any) {
		drop(child(obj, "metadata"), "annotations", "deployment.kubernetes.io/revision")
	}
	return k
}()

func deploymentHealth(obj map[string]any) Health {
	want := numberOr(obj, 1, "spec", "replicas")
	return healthyIf(observed(obj) && number(obj, "status", "updatedReplicas") == want && number(obj, "status", "availableReplicas") == want &&
		number(obj, "status", "replicas") == want)
}

var statefulSet = func() Kind {
	k := scalable(workload(statefulSetHealth, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas"))
	k.refers = func(c *collector, obj map[string]any) {
		refersByTemplate(c, obj)
		c.ownClaims(obj)
	}
	return k
}()

// statefulSetHealth does not wait for updates that the spec holds back: of pods below
// the partition, and of all pods with OnDelete.
func statefulSetHealth(obj map[string]any) Health {
	want := numberOr(obj, 1, "spec", "replicas")
	updated := want - number(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		updated = 0
	}
	return healthyIf(observed(obj) && number(obj, "status", "updatedReplicas") >= updated && number(obj, "status", "readyReplicas") == want)
}

// ownClaims takes out the claims that a StatefulSet makes itself.
func (c *collector) ownClaims(obj map[string]any) {
	for _, t := range elements(obj, "spec", "volumeClaimTemplates") {
		c.forget("PersistentVolumeClaim", text(t, "metadata", "name"))
	}
}

var replicaSet = func() Kind {
	k := scalable(workload(func(obj map[string]any) Health {
		return healthyIf(observed(obj) && number(obj, "status", "availableReplicas") == numberOr(obj, 1, "spec", "replicas"))
	}, "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"))
	k.unawaited = always
	return k
}()

var replicationController = func() Kind {
	k := unknown
	k.replicas, k.guessed = "replicas", false
	return k
}()

var daemonSet = workload(func(obj map[string]any) Health {
	want := number(obj, "status", "desiredNumberScheduled")
	updated := number(obj, "status", "updatedNumberScheduled") == want || text(obj, "spec", "updateStrategy", "type") == "OnDelete"
	return healthyIf(observed(obj) && updated && number(obj, "status", "numberAvailable") == want)
}, "currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberMisscheduled",
	"numberReady", "numberUnavailable", "updatedNumberScheduled")

var pod = Kind{
	reports: []string{"phase", "containerStatuses", "initContainerStatuses"},
	health: func(obj map[string]any) Health {
		phase := text(obj, "status", "phase")
		return healthyIf(phase == "Succeeded" || phase == "Running" && condition(obj, "Ready") == "True")
	},
	total:     worstPhase("Failed", "Unknown", "Pending", "Running", "Succeeded"),
	refers:    func(c *collector, obj map[string]any) { c.pod(obj) },
	unawaited: always,
}

var disruptionBudget = func() Kind {
	k := workload(func(obj map[string]any) Health {
		return healthyIf(observed(obj) && number(obj, "status", "currentHealthy") >= number(obj, "status", "desiredHealthy"))
	}, "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
	k.refers = nil
	return k
}()

var autoscaler = Kind{
	reports: []string{"currentReplicas", "desiredReplicas"}, health: autoscalerHealth, total: sums("currentReplicas", "desiredReplicas"), unawaited: always,
}

// autoscalerHealth: an autoscaler is healthy if it reaches its target and reads its
// metrics, which it need not while scaling is disabled by 0 replicas. Without
// conditions no controller has looked at it yet, and its health is Unknown.
func autoscalerHealth(obj map[string]any) Health {
	conditions := elements(obj, "status", "conditions")
	if len(conditions) == 0 {
		return workv1alpha1.ResourceUnknown
	}
	return healthyIf(!slices.ContainsFunc(conditions, func(c map[string]any) bool {
		needed := c["type"] == "AbleToScale" || c["type"] == "ScalingActive" && c["reason"] != "ScalingDisabled"
		return needed && c["status"] != "True"
	}))
}
