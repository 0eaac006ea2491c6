// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// changes returns what to say of the objects that the member's admission changed.
func changes(cluster string, applied []done) (all []string) {
	for _, a := range applied {
		all = append(all, applying.ChangedIn(cluster, propagation.KeyOf(a.manifest), a.state.Changed)...)
	}
	return all
}

// placedChanges is changes for the objects of a placement.
func placedChanges(cluster string, results []placementv1.ManifestCondition) (all []string) {
	for _, r := range results {
		if r.Applied != nil {
			all = append(all, applying.ChangedIn(cluster, applying.KeyOf(r.Identifier), r.Applied.Changed)...)
		}
	}
	return all
}

// changedAnew reports whether the Work has something else to say of such changes than it
// says.
func changedAnew(w *propagation.Work, now []metav1.Condition) bool {
	was, is := applying.FieldsContested(w), meta.FindStatusCondition(now, applying.ConditionFieldsContested)
	if is == nil {
		return was != nil && was.Reason == applying.ReasonChangedByAdmission
	}
	return is.Reason == applying.ReasonChangedByAdmission && (was == nil || was.Reason != is.Reason || was.Message != is.Message)
}

// tellChanges records an event if the Work says of such changes what it did not say before.
func (s *Stage) tellChanges(ctx context.Context, w *propagation.Work, now []metav1.Condition) {
	if is := meta.FindStatusCondition(now, applying.ConditionFieldsContested); is != nil && changedAnew(w, now) {
		s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, is.Reason, is.Message)
	}
}
