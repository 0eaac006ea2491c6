// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
)

// Counts are the templates of each policy by state, from the bindings. A
// template that is claimed and was never propagated has no binding: only the
// claim map knows of it.
func Counts(bindings []*propagation.Binding) map[propagation.Claim]policyv1alpha1.TemplateCounts {
	counts := map[propagation.Claim]policyv1alpha1.TemplateCounts{}
	for _, b := range bindings {
		claim := b.Claim()
		if !claim.Held() {
			continue
		}
		c := counts[claim]
		c.Claimed++
		list := b.Status.Conditions
		if conditions.Is(list, gating.ConditionActive, metav1.ConditionFalse) {
			c.Pending++
		} else {
			c.Active++
		}
		all, some := b.Spec.Suspension.Dispatch()
		suspended := all || len(some) > 0
		if suspended {
			c.Suspended++
		}
		if conditions.Is(list, workv1alpha2.ConditionScheduled, metav1.ConditionFalse) ||
			!suspended && conditions.Is(list, workv1alpha2.ConditionFullyApplied, metav1.ConditionFalse) {
			c.Failed++
		}
		counts[claim] = c
	}
	return counts
}
