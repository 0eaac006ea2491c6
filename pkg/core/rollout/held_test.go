// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
)

// A Namespace that holds what others put there stays in a member until somebody approves
// that it goes: other members do not wait for that.
func TestC63WhatHoldsOthersTakesNobodysPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		held bool
		want string
	}{
		"what is on its way out counts":         {want: "c"},
		"but for what waits there for approval": {held: true, want: "c d"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld("25%", "25%", "a", "b").settle()
			w.picked = []string{"c", "d"}
			for range 5 { // nothing that is on its way out ends
				w.roll()
				for _, b := range w.bindings {
					if tc.held && b.DeletionTimestamp != nil {
						meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
							Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(applying.ReasonHoldsOthers), ObservedGeneration: b.Generation,
						})
					}
				}
				for c := range w.has("") {
					if c != "a" && c != "b" {
						w.observe(c)
					}
				}
			}
			wantHas(t, w, "", tc.want)
		})
	}
}
