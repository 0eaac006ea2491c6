// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

// Of each kind: one, all, all of one placement, and conditional writes. A nil
// old makes an object; a commit that would change nothing makes no request.

// Placement is the placement of that name.
func (h *Hub) Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.get(ctx, types.NamespacedName{Name: name})
}

// Placements are all placements.
func (h *Hub) Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.list(ctx, "")
}

// CommitPlacement makes the labels, annotations, finalizers and spec of the
// placement those of next, if it still is as old was read.
func (h *Hub) CommitPlacement(ctx context.Context, old, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error) {
	if old == nil {
		return createWire(ctx, h.placing.placements, next, "")
	}
	return updateWire(ctx, h.placing.placements, old, next)
}

// CommitPlacementStatus writes the status of the placement as it was read.
func (h *Hub) CommitPlacementStatus(ctx context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus) (*placementv1.ClusterResourcePlacement, error) {
	return putStatus(ctx, h.placing.placements, p, p.Status, status)
}

// PolicySnapshot is the snapshot of a policy of that name.
func (h *Hub) PolicySnapshot(ctx context.Context, name string) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.get(ctx, types.NamespacedName{Name: name})
}

// PolicySnapshotsOf are the snapshots of a placement's policy.
func (h *Hub) PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return ownedBy(ctx, h.placing.policySnapshots, placementv1.LabelParentCRP, placement, "")
}

// CommitPolicySnapshot makes the snapshot next's, in all but the status, if it
// still is as old was read.
func (h *Hub) CommitPolicySnapshot(ctx context.Context, old, next *placementv1.ClusterSchedulingPolicySnapshot) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	if old == nil {
		return restoreWire(ctx, h.placing.policySnapshots, next)
	}
	return updateWire(ctx, h.placing.policySnapshots, old, next)
}

// CommitPolicySnapshotStatus writes the status of the snapshot as it was read.
func (h *Hub) CommitPolicySnapshotStatus(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return putStatus(ctx, h.placing.policySnapshots, s, s.Status, status)
}

// DeletePolicySnapshot deletes the snapshot as it was read.
func (h *Hub) DeletePolicySnapshot(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot) error {
	return deleteWire(ctx, h.placing.policySnapshots, s)
}

// ResourceSnapshot is the snapshot of that name with its content, read live:
// nobody keeps that in memory.
func (h *Hub) ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error) {
	return h.placing.contents.get(ctx, types.NamespacedName{Name: name})
}

// ResourceSnapshotsOf are the snapshots of what a placement selected, without
// their content.
func (h *Hub) ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error) {
	return ownedBy(ctx, h.placing.resourceSnapshots, placementv1.LabelParentCRP, placement, "")
}

// CommitResourceSnapshot makes a snapshot with its content, where old is nil;
// else it makes the labels, annotations and finalizers those of next, neither
// of which has a content.
func (h *Hub) CommitResourceSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceSnapshot) (*placementv1.ClusterResourceSnapshot, error) {
	if old == nil {
		return createWire(ctx, h.placing.resourceSnapshots, next, next.Labels[placementv1.LabelParentCRP])
	}
	return updateWire(ctx, h.placing.resourceSnapshots, bare(old), bare(next))
}

func bare(s *placementv1.ClusterResourceSnapshot) *placementv1.ClusterResourceSnapshot {
	if s.Spec.SelectedResources == nil {
		return s
	}
	b := *s
	b.Spec = placementv1.ResourceSnapshotSpec{}
	return &b
}

// DeleteResourceSnapshot deletes the snapshot as it was read.
func (h *Hub) DeleteResourceSnapshot(ctx context.Context, s *placementv1.ClusterResourceSnapshot) error {
	return deleteWire(ctx, h.placing.resourceSnapshots, s)
}

// PlacementBinding is the placement's binding of that name.
func (h *Hub) PlacementBinding(ctx context.Context, name string) (*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.get(ctx, types.NamespacedName{Name: name})
}

// PlacementBindings are the bindings of all placements.
func (h *Hub) PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.list(ctx, "")
}

// PlacementBindingsOf are the bindings of a placement.
func (h *Hub) PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return ownedBy(ctx, h.placing.placementBindings, placementv1.LabelParentCRP, placement, "")
}

// CommitPlacementBinding makes the binding next's, in all but the status, if it
// still is as old was read.
func (h *Hub) CommitPlacementBinding(ctx context.Context, old, next *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error) {
	if old == nil {
		return restoreWire(ctx, h.placing.placementBindings, next)
	}
	return updateWire(ctx, h.placing.placementBindings, old, next)
}

// CommitPlacementBindingStatus writes the status of the binding as it was read.
func (h *Hub) CommitPlacementBindingStatus(ctx context.Context, b *placementv1.ClusterResourceBinding, status placementv1.ResourceBindingStatus) (*placementv1.ClusterResourceBinding, error) {
	return putStatus(ctx, h.placing.placementBindings, b, b.Status, status)
}

// DeletePlacementBinding deletes the binding as it was read.
func (h *Hub) DeletePlacementBinding(ctx context.Context, b *placementv1.ClusterResourceBinding) error {
	return deleteWire(ctx, h.placing.placementBindings, b)
}
