// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeping

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
)

// State is how urgently a Work has to be announced.
type State int

const (
	// Finished Works are not.
	Finished State = iota
	// Underway: nothing was said of it yet, and somebody may be at it.
	Underway
	// Overdue: nothing was said of it for so long that somebody has to say how it
	// is, though its object may never settle.
	Overdue
	// Failing: its member has said no, or has what is to leave. It will say so again, until
	// somebody changes something there.
	Failing
)

// settleFor is how long a Work may be without a word: until then the member's
// object may settle, and telling both at once costs one write less.
const settleFor = 5 * time.Second

// StateOf a Work whose member answers.
func StateOf(w *propagation.Work, now time.Time) State {
	switch {
	case w.Key.Form == propagation.PlacementForm && telling.HoldsAny(w):
		return Failing
	case w.Key.Form == propagation.PlacementForm && finished(w) && !w.Suspended() && telling.LeavesBehind(w):
		return Failing
	case finished(w):
		return Finished
	case refused(w):
		return Failing
	case now.Sub(w.Created) > settleFor:
		return Overdue
	}
	return Underway
}

// finished tells whether nothing is left to do about the Work.
func finished(w *propagation.Work) bool {
	if w.Key.Form == propagation.PlacementForm {
		return telling.Finished(w)
	}
	return reporting.Finished(w)
}

// refused tells whether the member has said no to the Work as it is now. That it
// did not answer is none: it does by now.
func refused(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == w.Generation &&
		c.Reason != reporting.ReasonUnreachable && c.Reason != reporting.ReasonNotJoined && !w.Suspended()
}
