// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// unrendered announces the templates whose bindings lack a Work in a joined cluster, or
// have one with older content: the scheduler knew of a cluster before the renderer did,
// or an event was lost. Two sweeps have to find them so, with no write to the binding
// in between, since most are about to be rendered. If another scheduler chose the
// clusters without emitting an event, or there is a Work too many, the binding is
// announced as scheduled. If its status names a member that has left, with which the Works
// there went, the reporter is told.
func (a *Auditor) unrendered(ctx context.Context, t *tick.Tick, books Books) error {
	made := make(map[propagation.WorkKey]*propagation.Work, len(books.Works))
	for _, w := range books.Works {
		made[w.Key] = w
	}
	var suspects []tick.Suspect[*propagation.Binding]
	for _, b := range books.Page.Bindings {
		if lacks(b, made, books.Here) || exceeds(b, made, books.Here) || len(departed(b, books.Ready)) > 0 {
			suspects = append(suspects, suspect(b))
		}
	}
	found, failed := a.current(ctx, books.Page, tick.Twice(t, roundUnrendered, suspects, books.Page.Most()))
	for _, b := range found {
		key := b.Template()
		switch lacks := lacks(b, made, books.Here); {
		case lacks && b.ForeignScheduler() == "":
			t.Out.Emit(events.TemplateTouched, events.Data{Template: &key, Reason: "Unrendered"})
		case lacks || exceeds(b, made, books.Here):
			t.Out.Emit(events.BindingScheduled, events.Data{Template: &key, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "Unrendered"})
		}
		for _, cluster := range departed(b, books.Ready) {
			w := propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)}
			t.Out.EmitWork(events.WorkFailed, events.Data{Template: &key, Binding: &b.Key, Work: &w, Cluster: cluster, Reason: "NoWork"})
		}
	}
	return failed
}

// departed returns the clusters that the binding's status names, and that are not
// registered. Where no other fits, they may still be among its clusters.
func departed(b *propagation.Binding, registered map[string]bool) []string {
	return slices.DeleteFunc(reporting.Astray(b, nil, nil, nil), func(cluster string) bool {
		_, is := registered[cluster]
		return is || len(path.IsValidPathSegmentName(cluster)) > 0 // a status may be forged
	})
}

// bare reports whether the Work contains a Secret with its content, as earlier versions
// wrote it.
func bare(b *propagation.Binding, w *propagation.Work) bool {
	return b.Template().IsSecret() && !w.Deleting && len(w.Sealed()) == 0
}

// workOf returns the binding's Work in the cluster that is in effect, and whether there
// is a second one, which has to go.
func workOf(b *propagation.Binding, made map[propagation.WorkKey]*propagation.Work, cluster string) (w *propagation.Work, two bool) {
	for _, name := range propagation.WorkNames(b.Key) {
		one := made[propagation.WorkKey{Cluster: cluster, Name: name}]
		switch {
		case one == nil || !one.IsOf(b.Key):
		case w == nil:
			w = one
		default:
			return w, true
		}
	}
	return w, false
}

// taken reports whether a Work of another binding has the name of the binding's Work there.
func taken(b *propagation.Binding, made map[propagation.WorkKey]*propagation.Work, cluster string) bool {
	w := made[propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)}]
	return w != nil && !w.IsOf(b.Key)
}

// renders reports whether Works can be made of the binding, where none of another has the
// name (taken): such a Work may have gone since the binding said so, and nobody told.
func renders(b *propagation.Binding) bool {
	if b.ActedHash() == "" || b.AwaitsTemplate() || b.Deleting {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, rendering.ConditionRendered)
	return c == nil || c.Status != metav1.ConditionFalse || c.Reason == rendering.ReasonWorkNameTaken
}

// exceeds reports whether there is a Work in a cluster that is not one of the binding's,
// and nothing keeps it there: the renderer did not know of the cluster yet.
func exceeds(b *propagation.Binding, made map[propagation.WorkKey]*propagation.Work, here map[string]bool) bool {
	if !renders(b) || applying.Omitted(b, true) != "" {
		return false
	}
	targets := b.TargetClusters()
	for _, name := range propagation.WorkNames(b.Key) {
		for cluster := range here {
			w := made[propagation.WorkKey{Cluster: cluster, Name: name}]
			if w != nil && w.IsOf(b.Key) && !w.Deleting && !slices.Contains(targets, cluster) && !b.SuspendedOn(cluster) {
				return true
			}
		}
	}
	return false
}

// lacks reports whether a Work is missing, has other content, or exists twice, and
// nothing prevents rendering it.
func lacks(b *propagation.Binding, made map[propagation.WorkKey]*propagation.Work, here map[string]bool) bool {
	if !renders(b) {
		return false
	}
	for _, c := range b.TargetClusters() {
		if !here[c] || taken(b, made, c) {
			continue
		}
		w, two := workOf(b, made, c)
		if w == nil || two || !reporting.UpToDate(b, w) || bare(b, w) {
			return true
		}
	}
	return false
}
