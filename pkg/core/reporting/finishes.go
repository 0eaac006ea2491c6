// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// maxFinishes is how many bytes the statuses of finished objects in one binding have
// together; of what is beyond that, only Works tell.
const maxFinishes = maxStatuses / 4

// WithFinishes returns the binding's status with the members in which an object that runs
// once has finished, as the Works say. What is recorded stays as long as the template is
// the same: whether a member, its Cluster or its Work is there tells nothing of that.
func WithFinishes(b *propagation.Binding, status workv1alpha2.ResourceBindingStatus, works []*propagation.Work, fleet []*clusterv1alpha1.Cluster) workv1alpha2.ResourceBindingStatus {
	uid, bytes := b.TemplateUID(), 0
	var all []workv1alpha2.Finish
	add := func(f workv1alpha2.Finish) {
		known := func(o workv1alpha2.Finish) bool { return o.ClusterID == f.ClusterID }
		if f.Status == nil || f.TemplateUID != uid || slices.ContainsFunc(all, known) || bytes+len(f.Status.Raw) > maxFinishes {
			return
		}
		all, bytes = append(all, f), bytes+len(f.Status.Raw)
	}
	for _, f := range status.FinishedIn {
		add(f)
	}
	for _, w := range works {
		i := slices.IndexFunc(fleet, func(c *clusterv1alpha1.Cluster) bool { return c.Name == w.Key.Cluster && c.Spec.ID != "" })
		if i >= 0 && applying.Finished(w, nil, FirstManifest(w)) {
			add(workv1alpha2.Finish{ClusterID: fleet[i].Spec.ID, TemplateUID: types.UID(w.Annotations[propagation.AnnotationTemplateUID]), Status: w.Status.ManifestStatuses[0].Status})
		}
	}
	status.FinishedIn = all
	return status
}

// Recalled returns the binding as if the member's Work had told already what the binding
// records of how the object ended there; the same if it records nothing of the member, or
// an earlier Work has told.
func Recalled(b *propagation.Binding, c *clusterv1alpha1.Cluster) *propagation.Binding {
	of := func(i workv1alpha2.AggregatedStatusItem) bool { return i.ClusterName == c.Name }
	told := slices.ContainsFunc(b.Status.AggregatedStatus, func(i workv1alpha2.AggregatedStatusItem) bool { return of(i) && i.Status != nil })
	i := slices.IndexFunc(b.Status.FinishedIn, func(f workv1alpha2.Finish) bool {
		return f.ClusterID == c.Spec.ID && f.TemplateUID == b.TemplateUID()
	})
	if told || i < 0 {
		return b
	}
	next := *b
	rest := slices.DeleteFunc(slices.Clone(b.Status.AggregatedStatus), of)
	next.Status.AggregatedStatus = append(rest, workv1alpha2.AggregatedStatusItem{ClusterName: c.Name, Status: b.Status.FinishedIn[i].Status})
	return &next
}
