// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
)

func healthyIf(ok bool) Health {
	if ok {
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnhealthy
}

// thereHealth is that of an object that does its job by existing.
func thereHealth(map[string]any) Health { return workv1alpha1.ResourceHealthy }

// observed tells whether the status speaks of the object as it is.
func observed(obj map[string]any) bool {
	return number(obj, "status", observedGeneration) >= number(obj, "metadata", generation)
}

func deploymentHealth(obj map[string]any) Health {
	want := numberOr(obj, 1, "spec", "replicas")
	return healthyIf(observed(obj) && number(obj, "status", "updatedReplicas") == want && number(obj, "status", "availableReplicas") == want &&
		number(obj, "status", "replicas") == want)
}

func replicaSetHealth(obj map[string]any) Health {
	return healthyIf(observed(obj) && number(obj, "status", "availableReplicas") == numberOr(obj, 1, "spec", "replicas"))
}

// statefulSetHealth: a partition holds back the pods below it, and OnDelete all.
func statefulSetHealth(obj map[string]any) Health {
	want := numberOr(obj, 1, "spec", "replicas")
	updated := want - number(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		updated = 0
	}
	return healthyIf(observed(obj) && number(obj, "status", "updatedReplicas") >= updated && number(obj, "status", "readyReplicas") == want)
}

func daemonSetHealth(obj map[string]any) Health {
	want := number(obj, "status", "desiredNumberScheduled")
	updated := number(obj, "status", "updatedNumberScheduled") == want || text(obj, "spec", "updateStrategy", "type") == "OnDelete"
	return healthyIf(observed(obj) && updated && number(obj, "status", "numberAvailable") == want)
}

func budgetHealth(obj map[string]any) Health {
	return healthyIf(observed(obj) && number(obj, "status", "currentHealthy") >= number(obj, "status", "desiredHealthy"))
}

// jobHealth cannot tell how a Job ends that still runs.
func jobHealth(obj map[string]any) Health {
	switch {
	case condition(obj, "Failed") == "True":
		return workv1alpha1.ResourceUnhealthy
	case condition(obj, "Complete") == "True":
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnknown
}

func podHealth(obj map[string]any) Health {
	phase := text(obj, "status", "phase")
	return healthyIf(phase == "Succeeded" || phase == "Running" && condition(obj, "Ready") == "True")
}

func serviceHealth(obj map[string]any) Health {
	switch text(obj, "spec", "type") {
	case "LoadBalancer":
		return ingressHealth(obj)
	case "ExternalName":
		return workv1alpha1.ResourceHealthy
	}
	return healthyIf(text(obj, "spec", "clusterIP") != "")
}

func ingressHealth(obj map[string]any) Health {
	return healthyIf(len(elements(obj, "status", "loadBalancer", "ingress")) > 0)
}

func phaseHealth(healthy ...string) func(map[string]any) Health {
	return func(obj map[string]any) Health {
		return healthyIf(slices.Contains(healthy, text(obj, "status", "phase")))
	}
}

func conditionsHealth(types ...string) func(map[string]any) Health {
	return func(obj map[string]any) Health {
		return healthyIf(!slices.ContainsFunc(types, func(t string) bool { return condition(obj, t) != "True" }))
	}
}
