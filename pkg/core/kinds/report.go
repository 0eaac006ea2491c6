// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
)

const (
	observedGeneration = "observedGeneration"
	generation         = "generation"
)

// Member is what one cluster reports of a template's object.
type Member struct {
	Cluster string
	Status  map[string]any
}

// Health of a member's object, as far as its kind can tell.
func (k Kind) Health(obj map[string]any) Health {
	switch {
	case k.health == nil:
		return workv1alpha1.ResourceUnknown
	case at(obj, "metadata", "deletionTimestamp") != nil:
		return workv1alpha1.ResourceUnhealthy
	}
	return k.health(obj)
}

// all, of the fields that a kind reports, is the whole status.
const all = "*"

// Report is the part of the object's status that is reported; nil: nothing.
func (k Kind) Report(obj map[string]any) map[string]any {
	has, _ := obj["status"].(map[string]any)
	if slices.Contains(k.reports, all) {
		return has
	}
	var status map[string]any
	put := func(key string, v any) {
		if status == nil {
			status = map[string]any{}
		}
		status[key] = v
	}
	for _, f := range k.reports {
		if v, ok := has[f]; ok {
			put(f, v)
		}
	}
	// With the generation of the member's own object the hub can tell whether its
	// status speaks of it.
	if len(status) > 0 && k.Observes() {
		put(generation, number(obj, "metadata", generation))
	}
	return status
}

// Observes tells whether the status says of which generation of the object it is.
func (k Kind) Observes() bool { return slices.Contains(k.reports, observedGeneration) }

// Observed tells whether what a member reports is of its object as it is.
func (m Member) Observed() bool {
	return number(m.Status, observedGeneration) >= number(m.Status, generation) && number(m.Status, generation) > 0
}

// Total is the whole status of the template, made of the members'. False: it is not
// ours to write.
func (k Kind) Total(template map[string]any, members []Member) (map[string]any, bool) {
	if k.total == nil {
		return nil, false
	}
	status := k.total(template, members)
	return status, status != nil
}

func healthyIf(ok bool) Health {
	if ok {
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnhealthy
}

// observed tells whether the status speaks of the object as it is.
func observed(obj map[string]any) bool {
	return number(obj, "status", observedGeneration) >= number(obj, "metadata", generation)
}

func inPhase(healthy ...string) func(map[string]any) Health {
	return func(obj map[string]any) Health {
		return healthyIf(slices.Contains(healthy, text(obj, "status", "phase")))
	}
}

func hasConditions(types ...string) func(map[string]any) Health {
	return func(obj map[string]any) Health {
		return healthyIf(!slices.ContainsFunc(types, func(t string) bool { return condition(obj, t) != "True" }))
	}
}
