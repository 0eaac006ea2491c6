// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeping

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
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
	// Holding: all that is left to do is to take out of the member what holds others there,
	// which waits for a person.
	Holding
)

// Held tells whether a Work that has objects to take out of its member waits with each of
// them for a person to approve that (applying.ReasonHoldsOthers), and since when it does. One
// that is approved waits no longer.
func Held(w *propagation.Work) (since time.Time, held bool) {
	waits := func(message string, at time.Time) bool {
		if message == "" || w.Approves(applying.Approval(message)) {
			return false
		}
		if since.Before(at) {
			since = at
		}
		return true
	}
	if w.Deleting {
		since = w.Deleted
	}
	if w.Key.Form == propagation.PolicyForm {
		c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
		return since, w.Deleting && c != nil && c.Reason == string(applying.ReasonHoldsOthers) && waits(c.Message, c.LastTransitionTime.Time)
	}
	for _, r := range w.Results {
		switch why := telling.HoldsOthers(r); {
		case why != "":
			if !waits(why, telling.Holding(r)) {
				return since, false
			}
			held = true
		case w.Deleting && r.Applied != nil:
			return since, false
		}
	}
	return since, held && (w.Deleting || !telling.LeavesBehind(telling.Others(w)))
}

// settleFor is how long a Work may be without a word: until then the member's
// object may settle, and telling both at once costs one write less.
const settleFor = 5 * time.Second

// StateOf a Work whose member answers.
func StateOf(w *propagation.Work, now time.Time) State {
	switch {
	case finished(w) && w.Key.Form == propagation.PlacementForm && !w.Suspended() && telling.LeavesBehind(w):
		if _, held := Held(w); held {
			return Holding
		}
		return Failing
	case finished(w) && len(w.Rivals()) > 0: // it says so until they are looked at
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
