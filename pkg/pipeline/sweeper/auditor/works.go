// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"time"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// overdue is how many overdue Works one sweep announces at most: for each, somebody
	// waits for its status, which costs one write.
	overdue = 500
	// failing is how many Works whose members reject them are announced per second:
	// each costs a request or two, until somebody corrects it.
	failing = 25
	// leastFailing is how many each sweep announces, however soon it follows another
	// one.
	leastFailing = 10
)

// patience returns how many failing Works are announced, by the time since the last
// sweep.
func patience(t *tick.Tick) int {
	since := t.Now.Sub(t.Last)
	if since > tick.Batch/failing*time.Second {
		return tick.Batch
	}
	return max(int(since*failing/time.Second), leastFailing)
}

// announcement is an event that a sweep may emit.
type announcement struct {
	eventType string
	data      events.Data
}

// found are the Works to be announced, by the reason.
type found struct {
	ready map[string]bool
	bound func(propagation.BindingKey) bool
	now   time.Time
	// last is when the sweep before this one was; zero: not known, or it did not look
	// at these Works.
	last time.Time

	underway, overdue, failing, all []sweeping.Entry[announcement]
}

// sort determines what has to be announced about a Work.
func (f *found) sort(w *propagation.Work, d events.Data) {
	ready := f.ready[w.Key.Cluster]
	add := func(to *[]sweeping.Entry[announcement], eventType string, d events.Data) {
		*to = append(*to, sweeping.Entry[announcement]{Lane: w.Key.Cluster, ID: w.Key.Name, Value: announcement{eventType, d}})
	}
	switch {
	case w.Deleting && ready && !f.turn(w): // it waits for a person
	case w.Deleting && ready:
		d.Reason = events.ReasonUnfinished
		add(&f.underway, events.WorkRemoved, d)
		if d.Placement == "" && !f.bound(w.Binding()) {
			add(&f.underway, events.BindingRemoved, events.Data{Template: d.Template, Binding: d.Binding, Reason: "BindingGone"})
		}
	case w.Deleting:
	case d.Placement == "" && (applying.Kept(w) != nil || !f.bound(w.Binding())):
		if f.turn(w) {
			add(&f.underway, events.BindingRemoved, events.Data{Template: d.Template, Binding: d.Binding, Reason: "BindingGone"})
		}
		// No policy may hold its template at the moment, and the Work stays: so its
		// status has to be updated when its member can be reached again.
		if ready && sweeping.StateOf(w, f.now) == sweeping.Overdue {
			d.Reason = events.ReasonUnfinished
			add(&f.overdue, events.WorkRendered, d)
		}
	case ready:
		again := d
		again.Reason = events.ReasonRevisited
		add(&f.all, events.WorkRendered, again)
		switch sweeping.StateOf(w, f.now) {
		case sweeping.Underway:
			add(&f.underway, events.WorkRendered, d)
		case sweeping.Overdue:
			d.Reason = events.ReasonUnfinished
			add(&f.overdue, events.WorkRendered, d)
		case sweeping.Holding:
			if !f.turn(w) {
				return
			}
			fallthrough
		case sweeping.Failing:
			d.Reason = events.ReasonUnfinished
			add(&f.failing, events.WorkRendered, d)
		case sweeping.Finished:
		}
	}
}

// turn reports whether a Work has to be announced by this sweep. One that waits for a
// person is announced only now and then, after a while: so does one whose object is kept
// until its template is made again.
func (f *found) turn(w *propagation.Work) bool {
	since, held := sweeping.Held(w)
	if kept := applying.Kept(w); kept != nil && !w.Deleting {
		since, held = kept.LastTransitionTime.Time, true
	}
	return !held || rollout.Seldom(w.Key.String(), since, f.last, f.now)
}

// announce emits as many events of each sort as one sweep may.
func (f *found) announce(t *tick.Tick, elsewhere func(cluster string) bool) {
	emit := func(how func(eventType string, d events.Data), all []announcement) {
		for _, a := range all {
			how(a.eventType, a.data)
		}
	}
	emit(t.Out.Emit, tick.Revisited(t, f.all, overdue, elsewhere))
	// Within seconds, whatever else has the pipeline at work (Z30).
	emit(t.Out.EmitAwaited, tick.Pick(t, roundOverdue, f.overdue, overdue))
	emit(t.Out.Emit, tick.Pick(t, roundWorks, f.underway, tick.Batch))
	emit(t.Out.Emit, tick.Pick(t, roundFailing, f.failing, patience(t)))
}
