// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

const (
	messageFullyApplied    = "All works have been successfully applied"
	messageNotFullyApplied = "Failed to apply all works, see status.aggregatedStatus for details"
	messageOutdated        = "the Work is of an earlier content; see the condition Rendered of the binding"
	messagePending         = "not applied yet"
	messageUnseen          = "what the member has of it is not known yet"
)

// Concluded tells whether each of targets, those of the binding's clusters that are
// joined, has a Work, made of what is in force, that says what became of it. A Work that
// cannot be made anew (see the condition Rendered) is not waited for, nor is one in a
// cluster that has left, which a binding names as long as no other fits. Of a binding
// that goes nowhere, and never went anywhere, there is nothing to say, nor of one whose
// clusters have all left, once its status names none.
func Concluded(b *propagation.Binding, works []*propagation.Work, targets []string) bool {
	deserted := len(b.TargetClusters()) > 0 && len(b.Status.AggregatedStatus) == 0
	if b.Deleting || len(targets) == 0 && (Verdict(b) == "" || deserted) {
		return false
	}
	of := byCluster(works)
	for _, c := range targets {
		w, ok := of[c]
		if ok && !w.Deleting && (UpToDate(b, w) || Unrendered(b)) && concluded(w) || !ok && Unrendered(b) {
			continue
		}
		return false
	}
	return true
}

func byCluster(works []*propagation.Work) map[string]*propagation.Work {
	of := make(map[string]*propagation.Work, len(works))
	for _, w := range works {
		of[w.Key.Cluster] = w
	}
	return of
}

// UpToDate reports whether the Work was made of the content in force.
func UpToDate(b *propagation.Binding, w *propagation.Work) bool {
	return w.Annotations[propagation.AnnotationRevision] == b.Revision()
}

// Unrendered reports whether the manifest of some cluster could not be made.
func Unrendered(b *propagation.Binding) bool {
	return meta.IsStatusConditionFalse(b.Status.Conditions, rendering.ConditionRendered)
}

// Astray are the clusters, sorted, about which the binding's status has to be written anew,
// though nobody is about to tell of a Work there: those without a Work that it names and
// that are not among targets, which are the binding's clusters that are joined; those of
// failed, whose Works cannot be made, as long as it names them or does not say that not
// all have what is in force; and those whose Works stay as they are where nothing is
// wanted, and are of an earlier content by now.
func Astray(b *propagation.Binding, works []*propagation.Work, failed map[string]bool, targets []string) []string {
	of := byCluster(works)
	var names []string
	for c := range failed {
		if of[c] == nil && Verdict(b) != workv1alpha2.ReasonFullyAppliedFailed {
			names = append(names, c)
		}
	}
	for _, i := range b.Status.AggregatedStatus {
		w, target := of[i.ClusterName], slices.Contains(targets, i.ClusterName)
		if w == nil && (failed[i.ClusterName] || !target) || w != nil && !w.Deleting && !target && !UpToDate(b, w) && i.AppliedMessage != messageOutdated {
			names = append(names, i.ClusterName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Told reports whether a Work that did not change has been summed up: the binding's status
// is about the binding as it is, and has what the Work says. Where something is written
// to the template as well, which comes after the binding's status, that is not known.
func Told(known kinds.Table, b *propagation.Binding, w *propagation.Work) bool {
	if known.Named(b.Template().GroupVersionKind().GroupKind()).Sums() {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.ConditionFullyApplied)
	says := item(b, w)
	return c != nil && c.ObservedGeneration == b.Generation && slices.ContainsFunc(b.Status.AggregatedStatus,
		func(i workv1alpha2.AggregatedStatusItem) bool { return equality.Semantic.DeepEqual(i, says) })
}

// concluded tells whether the Work's conditions speak of its present generation:
// it was applied, could not be, or is held back.
func concluded(w *propagation.Work) bool {
	if c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied); c != nil && c.ObservedGeneration == w.Generation {
		return true
	}
	return heldBack(w)
}

func heldBack(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionDispatching)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == w.Generation
}

// Holds reports whether the member has what the Work says. It compares the content: a
// suspension makes a new generation of the Work with the same content.
func Holds(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	if c == nil || c.Status != metav1.ConditionTrue {
		return false
	}
	return c.ObservedGeneration == w.Generation || sameManifest(w)
}

// sameManifest tells whether what was applied last is what the Work says.
func sameManifest(w *propagation.Work) bool {
	if w.Status.Applied == nil || len(w.Spec.Workload.Manifests) != 1 {
		return false
	}
	var manifest map[string]any
	return json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &manifest) == nil && propagation.ManifestHash(manifest) == w.Status.Applied.ManifestHash
}

// Finished reports whether nothing is left to do for the Work: its member has what it
// says, or the Work says that it is suspended, and what is there.
func Finished(w *propagation.Work) bool {
	if w.Suspended() {
		return heldBack(w) && !unseen(w)
	}
	return concluded(w) && Holds(w) && !meta.IsStatusConditionFalse(w.Status.Conditions, workv1alpha1.ConditionDispatching)
}

// Summarize is the binding's status with what its Works say: each cluster's
// state, sorted, the condition FullyApplied, and what else there is to be said.
func Summarize(b *propagation.Binding, works []*propagation.Work, now time.Time) workv1alpha2.ResourceBindingStatus {
	status := *b.Status.DeepCopy()
	status.AggregatedStatus = nil
	applied := map[string]bool{}
	for _, w := range works {
		if w.Deleting {
			continue
		}
		i := item(b, w)
		applied[i.ClusterName] = i.Applied
		status.AggregatedStatus = append(status.AggregatedStatus, i)
	}
	slices.SortFunc(status.AggregatedStatus, func(x, y workv1alpha2.AggregatedStatusItem) int { return strings.Compare(x.ClusterName, y.ClusterName) })

	targets := b.TargetClusters()
	c := metav1.Condition{
		Type: workv1alpha2.ConditionFullyApplied, Status: metav1.ConditionTrue,
		Reason: workv1alpha2.ReasonFullyAppliedSuccess, Message: messageFullyApplied, ObservedGeneration: b.Generation,
	}
	if len(targets) == 0 || slices.ContainsFunc(targets, func(t string) bool { return !applied[t] }) {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, workv1alpha2.ReasonFullyAppliedFailed, messageNotFullyApplied
	}
	status.Conditions, _ = conditions.Set(status.Conditions, c, now)
	status.Conditions = contested(b, status.Conditions, works, now)
	status.Conditions, _ = ignoring(status.Conditions, FieldsIgnored(propagation.BindingFields, &b.Spec), now)
	return BoundBinding(status)
}

// contested are the conditions with those about others that want what the Works have, or
// change it, as long as some do.
func contested(b *propagation.Binding, list []metav1.Condition, works []*propagation.Work, now time.Time) []metav1.Condition {
	for c, is := range applying.Disputes(works, b.Generation) {
		if !is {
			list = conditions.Without(list, c.Type)
			continue
		}
		list, _ = conditions.Set(list, c, now)
	}
	return list
}

// item is what one Work says.
func item(b *propagation.Binding, w *propagation.Work) workv1alpha2.AggregatedStatusItem {
	i := workv1alpha2.AggregatedStatusItem{ClusterName: w.Key.Cluster, Applied: Holds(w) && UpToDate(b, w)}
	if len(w.Status.ManifestStatuses) > 0 {
		i.Status = w.Status.ManifestStatuses[0].Status
		i.Health = workv1alpha2.ResourceHealth(w.Status.ManifestStatuses[0].Health)
	}
	if i.Applied {
		if len(w.Status.ManifestStatuses) > 0 {
			i.AppliedMessage = w.Status.ManifestStatuses[0].Message // what a rule does not tell
		}
		return i
	}
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	switch {
	case !UpToDate(b, w):
		i.AppliedMessage = messageOutdated
	case heldBack(w):
		i.AppliedMessage = workv1alpha1.MessageSuspendDispatching
	case c != nil && c.Status != metav1.ConditionTrue:
		i.AppliedMessage = c.Message
	default:
		i.AppliedMessage = messagePending
	}
	return i
}

// Verdict returns the reason of the binding's condition FullyApplied; empty if it has no
// such condition.
func Verdict(b *propagation.Binding) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.ConditionFullyApplied); c != nil {
		return c.Reason
	}
	return ""
}
