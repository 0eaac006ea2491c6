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

// Health of a member's object, as far as its kind can tell: Unknown with an error where
// a rule of the kind's owner fails.
func (k Kind) Health(obj map[string]any) (Health, error) {
	switch {
	case k.health == nil && k.own.Health == nil:
		return workv1alpha1.ResourceUnknown, nil
	case at(obj, "metadata", "deletionTimestamp") != nil && !k.Ended(obj): // how a Job ended stays so when it goes
		return workv1alpha1.ResourceUnhealthy, nil
	case k.own.Health != nil:
		return k.own.Health(obj)
	}
	return k.health(obj), nil
}

// all, as an element of Kind.reports, stands for the whole status.
const all = "*"

// Report is the part of the object's status that is reported; nil: nothing.
func (k Kind) Report(obj map[string]any) (map[string]any, error) {
	status, err := k.reported(obj)
	// The generation of the member's object is reported along, so that the hub can tell
	// whether the status is about that generation.
	if len(status) > 0 && k.Observes() && (k.own.Total == nil || status[observedGeneration] != nil) {
		status = copyOf(status)
		status[generation] = number(obj, "metadata", generation)
	}
	return status, err
}

func (k Kind) reported(obj map[string]any) (map[string]any, error) {
	has, _ := obj["status"].(map[string]any)
	switch {
	case k.own.Report != nil:
		return k.own.Report(obj)
	case slices.Contains(k.reports, all):
		return has, nil
	}
	var status map[string]any
	for _, f := range k.reports {
		if v, ok := has[f]; ok {
			if status == nil {
				status = map[string]any{}
			}
			status[f] = v
		}
	}
	return status, nil
}

// Observes reports whether the status of the kind may have an observedGeneration. It
// may where the owner of the kind has a rule for the template's status.
func (k Kind) Observes() bool {
	return k.own.Total != nil || slices.Contains(k.reports, observedGeneration)
}

// Observed reports whether the member's status is about the present generation of its
// object.
func (m Member) Observed() bool {
	return number(m.Status, observedGeneration) >= number(m.Status, generation) && number(m.Status, generation) > 0
}

// Sums reports whether something is written to the template because of the members'
// status.
func (k Kind) Sums() bool { return k.total != nil || k.own.Total != nil || k.Scales() }

// Total returns the whole status of the template, computed from the members'. It is
// false where Sluice does not write the status of the kind, or where a rule of the
// kind's owner fails.
func (k Kind) Total(template map[string]any, members []Member) (map[string]any, bool, error) {
	if k.own.Total != nil {
		said, err := k.own.Total(template, members)
		if err != nil {
			return nil, false, err
		}
		return over(child(template, "status"), said), true, nil
	}
	if k.total == nil {
		return nil, false, nil
	}
	status := k.total(template, members)
	return status, status != nil, nil
}

func healthyIf(ok bool) Health {
	if ok {
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnhealthy
}

// observed reports whether the status is about the present generation of the object.
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
