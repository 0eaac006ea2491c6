// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Complete tells whether all has happened that follows from the template as it is
// now: its claim and its content are those of the binding, each target cluster has
// a Work of that content, which is finished, no other cluster has one, and what
// the Works say stands on binding and template. One that takes others along never
// is: how these are is not looked at.
func Complete(known kinds.Table, t *propagation.Template, b *propagation.Binding, works []*propagation.Work) bool {
	switch {
	case t.Deleting, b.Deleting, b.TemplateUID() != t.UID:
		return false
	case !t.Claim.Held(), t.Claim != b.Claim(), t.Hash != b.ActedHash():
		return false
	case b.Spec.PropagateDeps, b.Labels[propagation.LabelLinked] != "":
		return false
	}
	if targets := b.TargetClusters(); len(works) != len(targets) || !Concluded(b, works, targets) {
		return false
	}
	for _, w := range works {
		if w.Deleting || !Finished(w) {
			return false
		}
	}
	return Verdict(b) == workv1alpha2.ReasonFullyAppliedSuccess && told(known, t, b, works)
}

// told tells whether binding and template say what the Works do.
func told(known kinds.Table, t *propagation.Template, b *propagation.Binding, works []*propagation.Work) bool {
	if b.Status.SchedulerObservedGeneration != b.Generation || !equality.Semantic.DeepEqual(Summarize(b, works, time.Time{}), b.Status) {
		return false
	}
	total, ours, err := Aggregate(known, t, b)
	return err == nil && !ours || ours && propagation.HashJSON(total) == propagation.HashJSON(t.Object["status"])
}
