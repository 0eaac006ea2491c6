// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// ByGroup reports whether the constraint is about regions, zones, providers or the
// values of a label, and not about single clusters.
func ByGroup(c policyv1alpha1.SpreadConstraint) bool {
	return c.SpreadByLabel != "" || c.SpreadByField != "" && c.SpreadByField != policyv1alpha1.SpreadByFieldCluster
}

// GroupConstraints returns the constraints by group that the binding's clusters have to
// satisfy: those of its placement, if that came into force since Sluice acts on them.
func (b *Binding) GroupConstraints() []policyv1alpha1.SpreadConstraint {
	if b.Annotations[AnnotationSpreadsByGroup] != "true" {
		return nil
	}
	return b.groupConstraints()
}

// SpreadsLater reports whether the placement has constraints by group that are left alone
// until it changes: it came into force under a Sluice that did not act on them.
func (b *Binding) SpreadsLater() bool {
	return len(b.groupConstraints()) > len(b.GroupConstraints())
}

func (b *Binding) groupConstraints() []policyv1alpha1.SpreadConstraint {
	if b.Spec.Placement == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.Spec.Placement.SpreadConstraints), func(c policyv1alpha1.SpreadConstraint) bool { return !ByGroup(c) })
}

// NoteSpread sets or removes AnnotationSpreadsByGroup, in place, if next is another
// placement than the binding's: next comes into force, and its constraints by group
// count.
func (b *Binding) NoteSpread(next *policyv1alpha1.Placement) {
	switch {
	case b.Spec.Placement != nil && equality.Semantic.DeepEqual(b.Spec.Placement, next):
	case slices.ContainsFunc(next.SpreadConstraints, ByGroup):
		b.Annotations[AnnotationSpreadsByGroup] = "true"
	default:
		delete(b.Annotations, AnnotationSpreadsByGroup)
	}
}
