// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/scheduling/placement"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/paging"
)

// placed begins the position of a paged fan-out of a cluster's change that has reached
// the placements; the name of the last one follows.
const placed = "placement:"

// place picks the members of one placement, and writes them to the status of the policy
// snapshot in force. For a placement that is being deleted nothing is decided: the
// rollout removes its bindings.
func (s *Stage) place(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	p, err := s.placements.Placement(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		_, err := s.evict(ctx, name, nil, nil)
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("get placement %s: %w", name, err)
	}
	out := events.From(Name, e)
	if p.DeletionTimestamp != nil {
		if _, err := s.evict(ctx, name, p, nil); err != nil {
			return nil, err
		}
		out.Emit(events.PlacementScheduled, events.Data{Placement: name, Reason: "Deleting"})
		return out.Events()
	}
	snapshots, err := s.placements.PolicySnapshotsOf(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list policy snapshots of %s: %w", name, err)
	}
	policy := placing.LatestPolicy(p, snapshots)
	if policy == nil {
		_, err := s.evict(ctx, name, p, nil)
		return nil, err // the placer creates it, and emits an event
	}
	var d placement.Decision
	err = measured(func() error {
		if d, err = s.pick(ctx, policy, name, nil); err != nil {
			return err
		}
		if policy, err = s.decided(ctx, policy, d); err != nil {
			return err
		}
		without, err := s.evict(ctx, name, p, policy)
		if without != nil {
			d = *without
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Emit(events.PlacementScheduled, events.Data{Placement: name, Reason: d.Condition.Reason, Message: d.Condition.Message})
	return out.Events()
}

func (s *Stage) pick(ctx context.Context, policy *placementv1.ClusterSchedulingPolicySnapshot, name string, evicted map[string]bool) (placement.Decision, error) {
	bindings, err := s.placements.PlacementBindingsOf(ctx, name)
	if err != nil {
		return placement.Decision{}, fmt.Errorf("list bindings of %s: %w", name, err)
	}
	members, err := s.placements.Fleet(ctx)
	if err != nil {
		return placement.Decision{}, err
	}
	return placement.Decide(placement.Input{Policy: policy, Members: members, Bindings: bindings, Evicted: evicted, Now: s.now()}), nil
}

// decided writes the decision to the snapshot's status, if that differs, and returns the
// snapshot with that.
func (s *Stage) decided(ctx context.Context, policy *placementv1.ClusterSchedulingPolicySnapshot, d placement.Decision) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	status := d.Status(placement.Generation(policy))
	condition := d.Condition
	condition.ObservedGeneration = policy.Generation
	status.Conditions, _ = conditions.Set(policy.Status.Conditions, condition, s.now())
	written, err := s.placements.CommitPolicySnapshotStatus(ctx, policy, status)
	if err != nil {
		return policy, fmt.Errorf("commit status of policy snapshot %s: %w", policy.Name, err)
	}
	return written, nil
}

// clusterChangedFor announces one page of the placements that a changed cluster may
// concern, after the one of that name.
func (s *Stage) clusterChangedFor(ctx context.Context, out *events.Batch, cluster, after string) error {
	all, err := s.placements.Placements(ctx)
	if err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	announced := 0
	for _, p := range all { // sorted by name
		if p.Name <= after || !concerns(p, cluster) {
			continue
		}
		out.Emit(events.PlacementSnapshotted, events.Data{Placement: p.Name, Reason: "ClusterChanged", Message: "cluster " + cluster + " changed"})
		if announced++; announced == paging.Size {
			out.Emit(events.ClusterChanged, events.Data{Cluster: cluster, Continue: placed + p.Name, Reason: "MorePlacements"})
			return nil
		}
	}
	return nil
}

// concerns reports whether the placement might pick the cluster.
func concerns(p *placementv1.ClusterResourcePlacement, cluster string) bool {
	if p.Spec.Policy.Type() == placementv1.PickFixedPlacementType {
		return slices.Contains(p.Spec.Policy.ClusterNames, cluster)
	}
	return true
}
