// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

func TestC63ABindingOnItsWayOutSaysThatOnlyWhatIsHeldIsLeft(t *testing.T) {
	const cluster = "kind-cluster-1"
	held := func(w *propagation.Work) *propagation.Work {
		w.Deleting = true
		w.Results[0].Conditions = []metav1.Condition{{Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(applying.ReasonHoldsOthers), Message: "it holds a/b"}}
		return w
	}
	for name, tc := range map[string]struct {
		change func(in *Input)
		want   bool
	}{
		"it is held": {change: func(in *Input) { held(in.Works[0]) }, want: true},
		"it goes":    {change: func(in *Input) { in.Works[0].Deleting = true }},
		"another of its Works goes": {change: func(in *Input) {
			held(in.Works[0])
			in.Works = append(in.Works, workOf(in.Bindings[0]))
			in.Works[3].Deleting = true
		}},
		"another of its Works is held":     {change: func(in *Input) { held(in.Works[0]); in.Works = append(in.Works, held(workOf(in.Bindings[0]))) }, want: true},
		"it is held, and is not to go now": {change: func(in *Input) { held(in.Works[0]).Deleting = false }},
		"nothing is left":                  {change: func(in *Input) { in.Works = in.Works[1:] }},
		"the binding is not on its way out": {change: func(in *Input) {
			held(in.Works[0])
			in.Bindings[0].DeletionTimestamp = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := world()
			in.Bindings[0].DeletionTimestamp = new(metav1.NewTime(now))
			tc.change(&in)
			said := in.Leaving(cluster)
			if (len(said) == 1) != tc.want {
				t.Fatalf("%d bindings say so, want %t", len(said), tc.want)
			}
			if !tc.want {
				return
			}
			c := meta.FindStatusCondition(said[0].Status.Conditions, placementv1.ConditionApplied)
			if said[0].Binding != in.Bindings[0] || c == nil || c.Reason != string(applying.ReasonHoldsOthers) || c.Message != "it holds a/b" {
				t.Errorf("it says %+v", c)
			}
		})
	}
}
