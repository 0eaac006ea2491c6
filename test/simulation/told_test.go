// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// checkTold checks that people are told what is so: a binding says that it is fully
// applied where its members have what is in force, and its template sums up what they
// say. Of what is suspended nobody looks at the members. Of a member that has left nothing is
// said, also where no other fits.
func (w *world) checkTold(b *propagation.Binding) {
	if inForce(b) {
		for _, i := range b.Status.AggregatedStatus {
			if !w.hub.Joined(i.ClusterName) {
				w.fail("%s says what became of it in %s, which has left", b.Key, i.ClusterName)
			}
		}
	}
	goes := w.goesTo(b)
	held := func(work *propagation.Work) bool { return work.Deleting || work.Suspended() } // also where it does not go any more
	if !inForce(b) || w.keptNoMore(b) || formIn(b) != "" && w.stuck(b) || slices.ContainsFunc(goes, b.SuspendedOn) || slices.ContainsFunc(w.worksOf(b), held) {
		return
	}
	there, ready := len(goes) > 0, int64(0)
	for _, c := range goes {
		o := w.members[c].Object(b.Template())
		there = there && o != nil && o.Work != "" && normal(o.Content) == w.safety.contents.byHash[b.ActedHash()].normal
		if o != nil {
			n, _ := o.Status["readyReplicas"].(int64)
			ready += n
		}
	}
	if says := conditions.Is(b.Status.Conditions, workv1alpha2.ConditionFullyApplied, metav1.ConditionTrue); says != there {
		w.fail("%s says that it is fully applied: %t, and its members have it: %t", b.Key, says, there)
	}
	t := w.hub.Live(b.Template())
	if status, _ := t.Object["status"].(map[string]any); there && t.Key.Kind == "Deployment" && status["people"] == nil {
		if says, _ := status["readyReplicas"].(int64); says != ready {
			w.fail("%s says that %d replicas are ready, and its members say %d", t.Key, says, ready)
		}
	}
}
