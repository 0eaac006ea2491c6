// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// Refuse is the placement's conditions where what it selects is an error of who
// wrote it, and whether they differ from those that it has: it stays with what it
// had, and what would follow from a selection is not known.
func Refuse(p *placementv1.ClusterResourcePlacement, message string, now time.Time) ([]metav1.Condition, bool) {
	next := slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c metav1.Condition) bool {
		return c.Type != placementv1.ConditionPlacementScheduled
	})
	next, changed := conditions.Set(next, metav1.Condition{
		Type: placementv1.ConditionPlacementScheduled, Status: metav1.ConditionFalse, Reason: placementv1.ReasonInvalidResourceSelectors,
		Message: message, ObservedGeneration: p.Generation,
	}, now)
	return next, changed || len(next) != len(p.Status.Conditions)
}

// Refused tells whether the placement says that what it selects is an error. While
// it does, its status is the placer's alone, who takes it back with Accept.
func Refused(p *placementv1.ClusterResourcePlacement) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionPlacementScheduled)
	return c != nil && c.Reason == placementv1.ReasonInvalidResourceSelectors
}

// Accept is the placement's conditions where what it selects is none, and whether
// they differ from those that it has.
func Accept(p *placementv1.ClusterResourcePlacement, now time.Time) ([]metav1.Condition, bool) {
	if !Refused(p) {
		return p.Status.Conditions, false
	}
	return conditions.Set(p.Status.Conditions, metav1.Condition{
		Type: placementv1.ConditionPlacementScheduled, Status: metav1.ConditionUnknown, Reason: placementv1.ReasonSchedulePending,
		Message: "what is selected is known now; where it goes is being decided", ObservedGeneration: p.Generation,
	}, now)
}

// Resources lists what a snapshot holds as a placement's status does.
func Resources(items []Item) []placementv1.ResourceIdentifier {
	var all []placementv1.ResourceIdentifier
	for _, i := range items {
		all = append(all, Identifier(i.Key))
	}
	return all
}

// Identifier is a key as statuses have it.
func Identifier(k propagation.TemplateKey) placementv1.ResourceIdentifier {
	gvk := k.GroupVersionKind()
	return placementv1.ResourceIdentifier{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: k.Namespace, Name: k.Name}
}

// SelectorsOf are the selectors of a placement.
func SelectorsOf(p *placementv1.ClusterResourcePlacement) Selectors { return p.Spec.ResourceSelectors }
