// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// Reason says why an event passes or is held.
type Reason string

// The reasons. All but the last two let an event pass.
const (
	// WindowOpen: it is working time.
	WindowOpen Reason = "WindowOpen"
	// Deleted: the template is gone or goes, and its objects go with it.
	Deleted Reason = "Deleted"
	// Suspended: the policy holds back every member, so that nothing can come
	// out of it but the suspension itself.
	Suspended Reason = "Suspended"
	// OutsideWindow: it waits for working time.
	OutsideWindow Reason = "OutsideWindow"
	// WindowUnreadable: nobody can say when working time is.
	WindowUnreadable Reason = "WindowUnreadable"
)

// Template is what the decision depends on of a template, as it is now.
type Template struct {
	// Deleted: it is gone, or being deleted.
	Deleted bool
	// Suspended: the policy that holds it suspends every member.
	Suspended bool
}

// Decision is what happens to an event.
type Decision struct {
	Pass   bool
	Reason Reason
	// Opens is when it may pass; zero where it passes, or where nobody knows.
	Opens time.Time
}

// Decide says whether what is claimed for the template may come into force now.
// A nil window is one that cannot be read.
func Decide(t Template, w *Window, now time.Time) Decision {
	switch {
	case t.Deleted:
		return Decision{Pass: true, Reason: Deleted}
	case t.Suspended:
		return Decision{Pass: true, Reason: Suspended}
	case w == nil:
		return Decision{Reason: WindowUnreadable}
	case w.Open(now):
		return Decision{Pass: true, Reason: WindowOpen}
	}
	opens, _ := w.Next(now)
	return Decision{Reason: OutsideWindow, Opens: opens}
}
