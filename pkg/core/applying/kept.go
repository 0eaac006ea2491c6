// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// ConditionKept is True, with ReasonCannotTell, on a Work whose template went with a
// former definition of its kind (Finding.Outlives). Otherwise it is absent.
const ConditionKept = "Kept"

const messageKept = "its kind was defined anew after it was created, and nobody can tell whether somebody wanted it to go: " +
	"it stays in the member; to remove it, create it on the hub again, wait until it is applied, and delete it"

// Keeping returns the Work's conditions with ConditionKept if its object is kept, and
// without it otherwise.
func Keeping(w *propagation.Work, kept bool, now time.Time) []metav1.Condition {
	if !kept {
		return conditions.Without(w.Status.Conditions, ConditionKept)
	}
	list, _ := conditions.Set(w.Status.Conditions, metav1.Condition{
		Type: ConditionKept, Status: metav1.ConditionTrue, Reason: string(ReasonCannotTell), Message: messageKept, ObservedGeneration: w.Generation,
	}, now)
	return list
}

// Kept returns that condition of a Work; nil: it has none.
func Kept(w *propagation.Work) *metav1.Condition {
	return meta.FindStatusCondition(w.Status.Conditions, ConditionKept)
}
