// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// The reason and message of a Work that its member has.
const (
	ReasonApplied  = "AppliedSuccessful"
	MessageApplied = "the member has what the Work says"
	// MessageChanged is the message if the member's admission changed some of it.
	MessageChanged = "what the Work says is applied, and admission of the member changes some of it: see FieldsContested"
)

// The reasons of a Work that could not be asked for: they are not the object's.
const (
	ReasonNotJoined   = "ClusterNotJoined"
	ReasonUnreachable = "ClusterUnreachable"
)

// Settling tells whether the object is on its way: its status will follow soon,
// and is worth waiting for.
func Settling(known kinds.Table, obj map[string]any) bool {
	_, health, _ := Reflect(known, obj) // Unknown where it cannot be told
	return health == workv1alpha1.ResourceUnhealthy
}

// Patient reports whether the status of a Work may wait until the member's object has
// settled, so that both cost one write: nothing that people wait for changes until then.
func Patient(w *propagation.Work) bool {
	return !meta.IsStatusConditionFalse(w.Status.Conditions, workv1alpha1.ConditionApplied) && !Held(w)
}

// Held reports whether the Work is suspended, by its own field or by what the applier
// found.
func Held(w *propagation.Work) bool {
	return w.Suspended() || meta.IsStatusConditionFalse(w.Status.Conditions, workv1alpha1.ConditionDispatching)
}

// Seen returns the conditions of a suspended Work of which nothing was applied yet. Applied
// is Unknown as long as it is not known whether its member has something already, and
// absent as soon as it is.
func Seen(list []metav1.Condition, known bool, generation int64, now time.Time) []metav1.Condition {
	switch c := meta.FindStatusCondition(list, workv1alpha1.ConditionApplied); {
	case c != nil && c.Status != metav1.ConditionUnknown:
		return list
	case known:
		return conditions.Without(list, workv1alpha1.ConditionApplied)
	}
	list, _ = conditions.Set(list, metav1.Condition{
		Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionUnknown, Reason: ReasonUnreachable, Message: messageUnseen, ObservedGeneration: generation,
	}, now)
	return list
}

// unseen tells whether it is not known yet what the member of a suspended Work has.
func unseen(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	return c != nil && c.Status == metav1.ConditionUnknown
}

// Succeeded returns the status of a Work that is applied in its member.
func Succeeded(w *propagation.Work, state workv1alpha1.AppliedState, manifests []workv1alpha1.ManifestStatus, now time.Time) workv1alpha1.WorkStatus {
	status, message := w.Status, MessageApplied
	status.Applied, status.ManifestStatuses = &state, manifests
	if state.Changed != "" || slices.ContainsFunc(manifests, func(m workv1alpha1.ManifestStatus) bool { return m.Applied != nil && m.Applied.Changed != "" }) {
		message = MessageChanged
	}
	for _, c := range []metav1.Condition{
		{Type: workv1alpha1.ConditionDispatching, Reason: workv1alpha1.ReasonDispatching, Message: workv1alpha1.MessageDispatching},
		{Type: workv1alpha1.ConditionApplied, Reason: ReasonApplied, Message: message},
	} {
		c.Status, c.ObservedGeneration = metav1.ConditionTrue, w.Generation
		status.Conditions, _ = conditions.Set(status.Conditions, c, now)
	}
	return status
}

// FirstManifest returns the Work's first manifest; nil if it has none that can be read.
func FirstManifest(w *propagation.Work) map[string]any {
	if len(w.Spec.Workload.Manifests) == 0 {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &m); err != nil {
		return nil
	}
	return m
}
