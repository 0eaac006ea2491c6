// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// HoldsOthers returns why the object's removal is held; empty: it is not.
func HoldsOthers(r placementv1.ManifestCondition) string {
	c := meta.FindStatusCondition(r.Conditions, placementv1.ConditionApplied)
	if c == nil || c.Reason != string(applying.ReasonHoldsOthers) {
		return ""
	}
	return c.Message
}

// HoldsAny reports whether the removal of one of the Work's objects is held.
func HoldsAny(w *propagation.Work) bool {
	return slices.ContainsFunc(w.Results, func(r placementv1.ManifestCondition) bool { return HoldsOthers(r) != "" })
}
