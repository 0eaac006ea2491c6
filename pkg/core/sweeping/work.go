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
	// Finished: there is nothing left to do, so the Work is not announced.
	Finished State = iota
	// Underway: its status has no result yet, and a stage may still be working on it.
	Underway
	// Overdue: its status has had no result for so long that the present state has to be
	// reported, even if the object never settles.
	Overdue
	// Failing: its member refused it, or still has objects that have to leave. Trying
	// again gives the same answer until somebody changes something in the member.
	Failing
	// Holding: all that is left to do is to delete objects in the member that contain
	// objects of others (a Namespace, a CustomResourceDefinition), which waits for a
	// person's approval.
	Holding
)

// Held reports whether every object that the Work has yet to delete in its member waits
// for a person's approval (applying.ReasonHoldsOthers), and since when. An object whose
// deletion is approved waits no longer.
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

// settleFor is how long a Work may have no result in its status: if the member's object
// settles in that time, one write reports both that it was applied and how it is. A wrong
// clock may shorten that time, and never lengthens it.
const settleFor = 5 * time.Second

// StateOf returns the state of a Work whose member can be reached.
func StateOf(w *propagation.Work, now time.Time) State {
	switch {
	case finished(w) && w.Key.Form == propagation.PlacementForm && !w.Suspended() && telling.LeavesBehind(w):
		if _, held := Held(w); held {
			return Holding
		}
		return Failing
	case finished(w) && (len(w.Rivals()) > 0 || applying.Fighting(w.Status.Conditions) != nil): // it says so until they are looked at
		return Failing
	case finished(w):
		return Finished
	case refused(w):
		return Failing
	case now.Sub(w.Created).Abs() > settleFor:
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

// refused reports whether the member refused the present generation of the Work. That
// the member could not be reached or had not joined is no refusal: it can be reached by
// now.
func refused(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == w.Generation &&
		c.Reason != reporting.ReasonUnreachable && c.Reason != reporting.ReasonNotJoined && !w.Suspended()
}
