// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// roomless announces the templates whose replicas found no room, and find some now: that
// a member's load changed, nobody tells.
func (a *Auditor) roomless(ctx context.Context, t *tick.Tick, books Books) error {
	var waiting []*propagation.Binding
	for _, b := range books.Page.Bindings {
		if propagation.ByRoom(b.Spec.Placement) && !b.Deleting && conditions.Is(b.Status.Conditions, workv1alpha2.ConditionScheduled, metav1.ConditionFalse) {
			waiting = append(waiting, b)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	fleet, err := a.hub.Clusters(ctx)
	if err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	var found []sweeping.Entry[*propagation.Binding]
	for _, b := range waiting {
		if !scheduling.Settled(scheduling.Input{Binding: b, Clusters: fleet}) {
			found = append(found, entry(b))
		}
	}
	for _, b := range tick.Pick(t, roundRoomless, found, books.Page.Most()) {
		key := b.Template()
		t.Out.Emit(events.TemplateTouched, events.Data{Template: &key, Reason: "RoomFound"})
	}
	return nil
}
