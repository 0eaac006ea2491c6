// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import workv1alpha1 "sluice.dev/apis/work/v1alpha1"

// unknown is a kind that Sluice was not told about: a team's own. What is told of its
// objects rests on conventions, that is on fields that mean the same wherever they are:
// a spec with a template of pods and their number, and the conditions by which whoever
// looks after an object says how it is doing.
var unknown = Kind{
	guessed: true, replicas: "replicas", reports: []string{all}, health: healthByConditions, refers: refersByTemplate, unawaited: always,
}

// healthByConditions takes the health from the condition Ready, or else Available; an
// object that is Reconciling or Stalled is unhealthy. Without any of these the health
// is Unknown. The conventions are those of kstatus (sigs.k8s.io/cli-utils), which asks
// neither for Available nor for any condition: without Ready an object is healthy there.
func healthByConditions(obj map[string]any) Health {
	ready := condition(obj, "Ready")
	if ready == "" {
		ready = condition(obj, "Available")
	}
	busy := condition(obj, "Reconciling") == "True" || condition(obj, "Stalled") == "True"
	if ready == "" && !busy {
		return workv1alpha1.ResourceUnknown
	}
	says := at(obj, "status", observedGeneration) != nil
	return healthyIf(ready == "True" && !busy && (!says || observed(obj)))
}
