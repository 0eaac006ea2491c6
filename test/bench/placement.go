// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	placementPath    = "/apis/placement.kubernetes-fleet.io/v1/clusterresourceplacements"
	placedObjects    = 200
	placedNamespace  = "placed"
	placementPatient = 2 * time.Minute
)

// placements measures a placement of a namespace with many objects in all members: from
// its creation (select, snapshot, schedule, roll out) until it says that all is
// available, and a change of one object. The requests are counted. The floor is the
// same objects applied in the members, by a loop that does nothing else.
func (b *bench) placements(ctx context.Context) error {
	if err := b.lab.hub.namespace(ctx, placedNamespace); err != nil {
		return err
	}
	if _, err := b.create(ctx, "ConfigMap", placedNamespace, names("placed", placedObjects)); err != nil {
		return err
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	floor, err := b.placementFloor(ctx)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.lab.hub.create(ctx, placementPath, encoded(placementOf(placedNamespace))); err != nil {
		return err
	}
	if err := b.placedAll(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	rs, err := b.since(ctx)
	if err != nil {
		return err
	}
	budget := 5 + 4*b.members
	hub := rs.hub().writes().that(func(r request) bool { return !r.count() })
	b.table.row(fmt.Sprintf("hub writes for a new placement of %d objects until its status is back: 5 + 4N = %d", placedObjects, budget),
		verdict(len(hub) <= budget, "%d (%d Events)", len(hub), len(rs.events())), "audit log: "+hub.by(byResource)+"; decision 0035")
	applies := (placedObjects + 1) * b.members
	members := rs.member().writes()
	b.table.row(fmt.Sprintf("member writes for it: (K + 1) × N = %d", applies), verdict(len(members) <= applies, "%d", len(members)), "audit logs: "+members.by(byResource))
	b.table.row("a placement of "+fmt.Sprint(placedObjects)+" objects: created → all available and said so", seconds(took),
		fmt.Sprintf("floor: the same applies in %d members side by side, %s: %.1f ×", b.members, seconds(floor), took.Seconds()/floor.Seconds()))
	b.verbs("a new placement", rs)
	return nil
}

func placementOf(namespace string) map[string]any {
	return map[string]any{
		"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement", "metadata": map[string]any{"name": namespace},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": namespace}},
			"strategy":          map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "100%", "maxSurge": "100%", "unavailablePeriodSeconds": 1}},
		},
	}
}

// placedAll waits until the placement says that all is available.
func (b *bench) placedAll(ctx context.Context) error {
	return await(ctx, placementPatient, "the placement is available", func() bool {
		raw, err := b.lab.hub.get(ctx, placementPath+"/"+placedNamespace)
		return err == nil && conditionOf(raw, "ClusterResourcePlacementAvailable") == "True"
	})
}

// placementFloor applies as many objects in each member, member by member side by side.
func (b *bench) placementFloor(ctx context.Context) (time.Duration, error) {
	const namespace = "floor-placed"
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range b.lab.members {
		group.Go(func() error {
			if err := m.namespace(ctx, namespace); err != nil {
				return err
			}
			for _, name := range names("placed", placedObjects) {
				body, err := json.Marshal(template("ConfigMap", namespace, name))
				if err != nil {
					return err
				}
				if _, err := m.apply(ctx, place("ConfigMap", namespace)+"/"+name, body); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(began), err
}
