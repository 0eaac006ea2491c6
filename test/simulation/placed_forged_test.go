// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

const forgePlaced verb = "forge event of a placement"

// placedForgeries are the events that somebody publishes of a placement, of its Work in a
// member, and of the member, none of which tells what is so.
var placedForgeries = []string{
	events.PlacementTouched, events.PlacementSnapshotted, events.PlacementScheduled, events.PlacementWaiting, events.PlacementBound, events.PlacementReported,
	events.WorkRendered, events.WorkRemoved, events.WorkDeleted, events.WorkApplied, events.WorkFailed, events.WorkHeld,
	events.ClusterChanged,
}

// forgedReasons are what such an event says of itself: what stages say to each other, too.
var forgedReasons = []string{"Forged", events.ReasonRest, events.ReasonFollowsNobody, "ClusterLeft", "PlacementDeleted"}

func (d drawer) forgesPlaced() op {
	return op{
		verb: forgePlaced, policy: clusterWide(pick(d, []string{"crp-1", "crp-2", "no-such"})), cluster: pick(d, clusters),
		n: d.IntN(len(placedForgeries)), seed: uint64(d.IntN(len(forgedReasons))), //nolint:gosec // small
	}
}

// forgePlaced publishes the event; false: it would be of a Work that there is not.
func (w *world) forgePlaced(o op) bool {
	what := placedForgeries[o.n]
	d := events.Data{Placement: o.policy.Name, Cluster: o.cluster, Reason: forgedReasons[o.seed]}
	switch what {
	case events.ClusterChanged:
		d.Placement = ""
	case events.WorkRendered, events.WorkRemoved, events.WorkDeleted, events.WorkApplied, events.WorkFailed, events.WorkHeld:
		works := w.hub.LiveWorks()
		i := slices.IndexFunc(works, func(work *propagation.Work) bool {
			return work.Placement() == o.policy.Name && work.Key.Cluster == o.cluster
		})
		if i < 0 {
			return false
		}
		template, err := works[i].Template()
		if err != nil {
			return false // somebody took that off it
		}
		d.Template, d.Work, d.WorkVersion = &template, &works[i].Key, works[i].ResourceVersion
	}
	cause := event.New()
	cause.SetID(fmt.Sprintf("forged-%d", w.now.UnixNano()))
	cause.SetSource("/simulation")
	out := events.From("forger", cause)
	out.Emit(what, d)
	forged, err := out.Events()
	if err != nil {
		w.fail("forge %s: %v", what, err)
		return false
	}
	w.publish(forged[0])
	return true
}
