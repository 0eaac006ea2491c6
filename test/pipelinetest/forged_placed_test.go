// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest_test

import (
	"context"
	"maps"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/pipeline/placer"
	"sluice.dev/pkg/pipeline/rollout"
	"sluice.dev/pkg/redis/pending"
)

// placed is the placement, and the namespace that it selects.
const placed = "crp"

// unused is a member whose nodes nobody can see.
func unused(context.Context, string) (*mirroring.Usage, error) { return &mirroring.Usage{}, nil }

// placing are the stages that placements have besides.
func (w *world) placing() []function.Stage {
	return []function.Stage{placer.New(w.hub, pending.New(w.redis), nil, w.time), rollout.New(w.hub, w.time)}
}

// place places a namespace with a ConfigMap in m1 and m2.
func (w *world) place() {
	w.hub.Apply(propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: placed}, func(map[string]any) {})
	w.hub.Apply(propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: placed, Name: "settings"}, func(obj map[string]any) {
		obj["data"] = map[string]any{"value": "1"}
	})
	w.hub.PutPlacement(placed, placementv1.ClusterResourcePlacementSpec{
		ResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: placed}},
		Policy:            &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: []string{"m1", "m2"}},
		Strategy:          placementv1.RolloutStrategy{Type: placementv1.RollingUpdateRolloutStrategyType},
	})
	w.rest()
}

// forgePlaced adds what events of placements say, and of which objects their sources tell.
func (f *forger) forgePlaced(w *world) {
	for field, values := range map[string][]string{
		"placement": {placed, placed, "../x"}, "snapshotIndex": {"", "0", "1", "7", "-1", "x"},
		"reason":     {events.ReasonRest, events.ReasonFollowsNobody, "ClusterLeft", "PlacementDeleted"},
		"name":       append([]string{placed, placed + "-m1", "settings"}, w.hub.LiveSnapshots()...),
		"namespace":  {placed, "fleet-member-m1"},
		"kind":       {"ClusterResourcePlacement", "ClusterResourceBinding", "ClusterResourceSnapshot", "ClusterSchedulingPolicySnapshot", "MemberCluster", "ConfigMap"},
		"apiVersion": {"placement.kubernetes-fleet.io/v1", "cluster.kubernetes-fleet.io/v1"},
	} {
		f.strings[field] = append(f.strings[field], values...)
	}
	for _, work := range w.hub.LiveWorks() {
		if work.Placement() == "" {
			continue
		}
		whole := map[string]any{"placement": work.Placement(), "work": work.Key, "cluster": work.Key.Cluster}
		if key, err := work.Template(); err == nil {
			whole["template"] = key
		}
		f.works = append(f.works, whole)
	}
	for _, b := range w.hub.LivePlacementBindings() {
		f.strings["name"] = append(f.strings["name"], b.Name)
	}
}

// as puts what a whole event says in place of what was drawn: an event is of a policy's
// Work or of a placement's, and not of both.
func as(data, whole map[string]any) {
	for _, field := range []string{"binding", "placement", "template"} {
		delete(data, field)
	}
	maps.Copy(data, whole)
}

// placedEvents are those of placements.
var placedEvents = []string{
	events.PlacementTouched, events.PlacementSnapshotted, events.PlacementScheduled, events.PlacementWaiting, events.PlacementBound, events.PlacementReported,
}
