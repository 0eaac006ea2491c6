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

// Refuse returns the conditions of a placement whose selectors are wrong, and whether
// they differ from its present ones. The placement keeps what it had; conditions that
// depend on a selection are removed.
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

// Refused reports whether the placement's conditions say that its selectors are wrong.
// While they do, only the placer writes its status, until Accept.
func Refused(p *placementv1.ClusterResourcePlacement) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionPlacementScheduled)
	return c != nil && c.Reason == placementv1.ReasonInvalidResourceSelectors
}

// RefusedBefore reports whether the placement says that its selectors are wrong, and was
// edited since.
func RefusedBefore(p *placementv1.ClusterResourcePlacement) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionPlacementScheduled)
	return Refused(p) && c.ObservedGeneration < p.Generation
}

// Accept returns the conditions of a placement whose selectors are no longer wrong, and
// whether they differ from its present ones.
func Accept(p *placementv1.ClusterResourcePlacement, now time.Time) ([]metav1.Condition, bool) {
	if !Refused(p) {
		return p.Status.Conditions, false
	}
	return conditions.Set(p.Status.Conditions, metav1.Condition{
		Type: placementv1.ConditionPlacementScheduled, Status: metav1.ConditionUnknown, Reason: placementv1.ReasonSchedulePending,
		Message: "what is selected is known now; where it goes is being decided", ObservedGeneration: p.Generation,
	}, now)
}

// Resources returns the items in the form that a placement's status has.
func Resources(items []Item) []placementv1.ResourceIdentifier {
	var all []placementv1.ResourceIdentifier
	for _, i := range items {
		all = append(all, Identifier(i.Key))
	}
	return all
}

// Identifier returns the key in the form that statuses have.
func Identifier(k propagation.TemplateKey) placementv1.ResourceIdentifier {
	gvk := k.GroupVersionKind()
	return placementv1.ResourceIdentifier{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: k.Namespace, Name: k.Name}
}

// SelectorsOf returns the selectors of a placement.
func SelectorsOf(p *placementv1.ClusterResourcePlacement) Selectors { return p.Spec.ResourceSelectors }
