// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// What is kept until somebody makes its template again is looked at seldom, and its
// binding is not asked for; its status comes all the same. Without a binding, any other
// Work is looked at by each sweep.
func TestZ11WhatIsKeptIsAnnouncedSeldom(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	work := func(generation int64, kept, deleting bool) *propagation.Work {
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "one-widget"}, Generation: generation, Created: now.Add(-2 * time.Hour), Deleting: deleting, Deleted: now.Add(-time.Hour)}
		w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Reason: "AppliedSuccessful", ObservedGeneration: 1}}
		w.Status.Conditions = applying.Keeping(w, kept, now.Add(-time.Hour))
		return w
	}
	for name, tc := range map[string]struct {
		work *propagation.Work
		// removed and rendered: it is announced so by each sweep.
		removed, rendered, asked bool
	}{
		"its kind was defined anew":                            {work: work(1, true, false)},
		"it was, and its status is behind":                     {work: work(2, true, false), rendered: true},
		"it was, and its Work was deleted by hand":             {work: work(1, true, true), removed: true, asked: true},
		"its kind is not served, or was only being taken away": {work: work(1, false, false), removed: true, asked: true},
	} {
		t.Run("Z11: "+name, func(t *testing.T) {
			removed, rendered, asked, sweeps := 0, 0, false, 0
			for at := now; at.Before(now.Add(10 * time.Minute)); at = at.Add(2 * time.Second) {
				f := found{ready: map[string]bool{"m1": true}, bound: func(propagation.BindingKey) bool { asked = true; return false }, now: at, last: at.Add(-2 * time.Second)}
				f.sort(tc.work, events.Data{})
				sweeps++
				removed, rendered = removed+min(len(f.underway), 1), rendered+len(f.overdue)
			}
			want := map[bool]int{true: sweeps, false: 2}[tc.removed]
			if removed != want || rendered != map[bool]int{true: sweeps}[tc.rendered] || asked != tc.asked {
				t.Errorf("of %d sweeps %d looked for its template, %d for its status, asked for its binding: %t", sweeps, removed, rendered, asked)
			}
		})
	}
}
