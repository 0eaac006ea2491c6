// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	placementPath    = "/apis/placement.kubernetes-fleet.io/v1/clusterresourceplacements"
	placedObjects    = 200
	placedNamespace  = "placed"
	placementPatient = 2 * time.Minute
	// placementWaits is what no floor has: the second for which a placement's ConfigMaps
	// are not available yet (unavailablePeriodSeconds), and the tick that ends it.
	placementWaits = 3 * time.Second
)

// placements measures a placement of a namespace with many objects in all members: from
// its creation (select, snapshot, schedule, roll out) until it says that all is
// available, and a change of one object. The requests are counted. The floor is the
// same objects applied in the members, by a loop that does nothing else. The placement
// may take half as much again, and what it has to wait besides.
func (b *bench) placements(ctx context.Context) error {
	if err := b.lab.hub.namespace(ctx, placedNamespace); err != nil {
		return err
	}
	placed := names("placed", placedObjects)
	if _, err := b.create(ctx, "ConfigMap", placedNamespace, placed); err != nil {
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
	limit := floor*3/2 + placementWaits
	b.table.row(fmt.Sprintf("a placement of %d objects: created → all available and said so: ≤ 1.5 × the floor and %s = %s", placedObjects, seconds(placementWaits), seconds(limit)),
		verdict(took <= limit, "%s", seconds(took)),
		fmt.Sprintf("floor: the same applies in %d members side by side, %s: %.1f ×", b.members, seconds(floor), took.Seconds()/floor.Seconds()))
	b.verbs("a new placement", rs)
	return b.placedChange(ctx, placed[0])
}

// placedChange measures a change of one of the placement's objects, until the placement
// says that all is available again. The time tells nothing: changes are collected for 15
// seconds, and two snapshots are half a minute apart.
func (b *bench) placedChange(ctx context.Context, name string) error {
	path := place("ConfigMap", placedNamespace) + "/" + name
	if _, err := b.lab.hub.merge(ctx, path, encoded(map[string]any{"data": map[string]any{"greeting": "changed"}})); err != nil {
		return err
	}
	for _, m := range b.lab.members {
		err := await(ctx, placementPatient, m.name+" has the change", func() bool {
			raw, err := m.get(ctx, path)
			return err == nil && strings.Contains(string(raw), `"greeting":"changed"`)
		})
		if err != nil {
			return err
		}
	}
	if err := b.placedAll(ctx); err != nil {
		return err
	}
	rs, err := b.since(ctx)
	if err != nil {
		return err
	}
	budget := 5 + 4*b.members
	hub := rs.hub().writes().that(func(r request) bool { return !r.count() })
	b.table.row(fmt.Sprintf("hub writes for a change of one of its objects until its status is back: 5 + 4N = %d", budget),
		verdict(len(hub) <= budget, "%d (%d Events)", len(hub), len(rs.events())), "audit log: "+hub.by(byResource))
	members := rs.member().writes()
	b.table.row(fmt.Sprintf("member writes for it: N = %d", b.members), verdict(len(members) <= b.members, "%d", len(members)), "audit logs: "+members.by(byResource))
	reads := rs.of("configmaps").that(func(r request) bool { return !r.write() })
	b.table.row(fmt.Sprintf("objects read for it: the one, on the hub and in the members, 1 + N = %d", 1+b.members), verdict(len(reads) <= 1+b.members, "%d", len(reads)), "audit logs: "+reads.by(byResource))
	b.verbs("a change of one of a placement's objects", rs)
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
