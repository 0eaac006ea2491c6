// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"strings"
	"testing"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

func namespaceOf(name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name}
}

// TestC15C21WhatIsDeletedWhileItIsSnapshotted has people delete an object after the placer
// has listed it, and before it has written the snapshot, or at another moment of that. The
// snapshot may hold the object; the next one does not, and no member keeps it.
func TestC15C21WhatIsDeletedWhileItIsSnapshotted(t *testing.T) {
	asked := placementv1.ClusterResourcePlacementSpec{
		ResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}},
		Strategy:          placementv1.RolloutStrategy{Type: placementv1.RollingUpdateRolloutStrategyType},
	}
	drop := op{verb: dropTemplate, key: settings}
	again := op{verb: putTemplate, key: settings, content: content{image: 2, tier: "front"}}
	for name, tc := range map[string]struct {
		// at is the request of the placer in front of which it happens.
		at   pipelinetest.Request
		does []op
		// held tells whether the first snapshot holds what was deleted; lives, whether it
		// is there in the end.
		held, lives bool
		// lost: the answer to the write of the snapshot is lost, so that all is done again.
		lost bool
	}{
		"it is deleted before the list":                     {at: pipelinetest.Request{Verb: "list", About: "ConfigMap"}, does: []op{drop}},
		"it is deleted between the list and the write":      {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceSnapshot"}, does: []op{drop}, held: true},
		"and the answer to the write is lost":               {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceSnapshot"}, does: []op{drop}, held: true, lost: true},
		"and Redis with it":                                 {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceSnapshot"}, does: []op{drop, {verb: flush}}, held: true},
		"it is made anew at once, and says something else":  {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceSnapshot"}, does: []op{drop, again}, held: true, lives: true},
		"its namespace goes with it":                        {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceSnapshot"}, does: []op{drop, {verb: dropTemplate, key: nginx}, {verb: dropTemplate, key: namespaceOf("shop")}}, held: true},
		"it is deleted when all of the snapshot is written": {at: pipelinetest.Request{Verb: "create", About: "ClusterResourceBinding"}, does: []op{drop}, held: true},
	} {
		for climate, c := range map[string]climate{
			"one process": {lag: true, lanes: true, keeps: true, flights: 1, placed: true}, "many": {echo: true, keeps: true, flights: 1, placed: true},
		} {
			t.Run(name+", "+climate, func(t *testing.T) {
				w := newLab(t).start(c)
				for _, o := range []op{
					{verb: putTemplate, key: namespaceOf("shop"), content: content{tier: "front"}},
					{verb: putTemplate, key: nginx, content: content{image: 1, replicas: 2, tier: "front"}},
					{verb: putTemplate, key: settings, content: content{image: 1, tier: "front"}},
					{verb: deliver},
				} {
					w.do(o)
				}
				ask, did, lost := w.hub.Ask, false, !tc.lost
				w.hub.Ask = func(ctx context.Context, r pipelinetest.Request) error {
					if !did && r.Verb == tc.at.Verb && strings.HasPrefix(r.About, tc.at.About) && flightOf(ctx) != nil {
						did = true
						for _, o := range tc.does {
							w.do(o)
						}
					}
					return ask(ctx, r)
				}
				w.hub.Lost = func(_ context.Context, r pipelinetest.Request) bool {
					loses := !lost && r.Verb == "create" && strings.HasPrefix(r.About, "ClusterResourceSnapshot")
					lost = lost || loses
					return loses
				}
				w.do(op{verb: putPlacement, policy: clusterWide("crp-1"), asked: &asked})
				w.drain()
				want := tc.held || c.lag && tc.at.Verb == "list" // the watch has not told of it yet
				if held := w.snapshotHolds("crp-1", 0, settings); !did || held != want {
					t.Fatalf("it happened: %t; the first snapshot holds it: %t, want %t", did, held, want)
				}
				w.rest()
				w.final()
				if w.err != nil {
					t.Fatal(w.err)
				}
				for _, c := range clusters {
					if o := w.members[c].Object(settings); (o != nil) != tc.lives {
						t.Errorf("%s has it: %t, want %t", c, o != nil, tc.lives)
					}
				}
			})
		}
	}
}

// snapshotHolds tells whether the snapshot of that index holds the object.
func (w *world) snapshotHolds(placement string, index int, key propagation.TemplateKey) bool {
	for _, s := range w.hub.LiveResourceSnapshots(placement) {
		if indexOf(s) == index && kept(s)[key.ID()] != nil {
			return true
		}
	}
	return false
}
