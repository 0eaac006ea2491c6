// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package conditions sets conditions without rewriting what did not change.
//
// Invariants:
//   - A condition that says the same as before is left as it is, its times and
//     observed generation included, so that no status write follows.
//   - The transition time moves with the status alone.
//   - The list is a copy, sorted by type.
//   - No message is longer than MaxMessage, so that a status can always be written.
//
// It must not read the clock: its callers pass the time.
package conditions

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Set returns the list with c in it, and whether that differs from the list.
// ObservedGeneration counts as a difference only where c's is not 0.
func Set(list []metav1.Condition, c metav1.Condition, now time.Time) ([]metav1.Condition, bool) {
	c.Message = Message(c.Message)
	old := meta.FindStatusCondition(list, c.Type)
	if old != nil && old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message &&
		(c.ObservedGeneration == 0 || old.ObservedGeneration == c.ObservedGeneration) {
		return list, false
	}
	c.LastTransitionTime = metav1.NewTime(now)
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	next := append(Without(list, c.Type), c)
	slices.SortFunc(next, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return next, true
}

// Without returns the list without the condition of the type.
func Without(list []metav1.Condition, conditionType string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(list), func(c metav1.Condition) bool { return c.Type == conditionType })
}

// Only returns those conditions of the list that have one of the types, in the order of
// the types.
func Only(list []metav1.Condition, types ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, t := range types {
		if c := meta.FindStatusCondition(list, t); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// Has reports whether there is a condition of the type.
func Has(list []metav1.Condition, conditionType string) bool {
	return meta.FindStatusCondition(list, conditionType) != nil
}

// Is reports whether the condition of the type has the status.
func Is(list []metav1.Condition, conditionType string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(list, conditionType, status)
}
