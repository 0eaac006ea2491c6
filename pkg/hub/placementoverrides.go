// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

// ClusterOverride is the override without a namespace of that name.
func (h *Hub) ClusterOverride(ctx context.Context, name string) (*placementv1.ClusterResourceOverride, error) {
	return h.placing.clusterOverrides.get(ctx, types.NamespacedName{Name: name})
}

// ClusterOverrides are all overrides without a namespace.
func (h *Hub) ClusterOverrides(ctx context.Context) ([]*placementv1.ClusterResourceOverride, error) {
	return h.placing.clusterOverrides.list(ctx, "")
}

// ClusterOverridesDefined returns when their kind was defined, as Defined does.
func (h *Hub) ClusterOverridesDefined(ctx context.Context) (time.Time, error) {
	return h.defined(ctx, clusterOverrideKind)
}

// CommitClusterOverride makes the labels, annotations, finalizers and spec of
// the override those of next, if it still is as old was read.
func (h *Hub) CommitClusterOverride(ctx context.Context, old, next *placementv1.ClusterResourceOverride) (*placementv1.ClusterResourceOverride, error) {
	return updateWire(ctx, h.placing.clusterOverrides, old, next)
}

// ClusterOverrideSnapshot is the snapshot of that name.
func (h *Hub) ClusterOverrideSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrideSnapshots.get(ctx, types.NamespacedName{Name: name})
}

// ClusterOverrideSnapshots are the snapshots of all overrides without a
// namespace.
func (h *Hub) ClusterOverrideSnapshots(ctx context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrideSnapshots.list(ctx, "")
}

// ClusterOverrideSnapshotsOf are the snapshots of an override.
func (h *Hub) ClusterOverrideSnapshotsOf(ctx context.Context, override string) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return ownedBy(ctx, h.placing.clusterOverrideSnapshots, placementv1.LabelParentOverride, override, "")
}

// CommitClusterOverrideSnapshot makes the snapshot next's, if it still is as old
// was read. A nil old makes it.
func (h *Hub) CommitClusterOverrideSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	if old == nil {
		return createWire(ctx, h.placing.clusterOverrideSnapshots, next, next.Labels[placementv1.LabelParentOverride])
	}
	return updateWire(ctx, h.placing.clusterOverrideSnapshots, old, next)
}

// DeleteClusterOverrideSnapshot deletes the snapshot as it was read.
func (h *Hub) DeleteClusterOverrideSnapshot(ctx context.Context, s *placementv1.ClusterResourceOverrideSnapshot) error {
	return deleteWire(ctx, h.placing.clusterOverrideSnapshots, s)
}

// NamespaceOverride is the override with a namespace of that name.
func (h *Hub) NamespaceOverride(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverride, error) {
	return h.placing.namespaceOverrides.get(ctx, name)
}

// NamespaceOverrides are all overrides with a namespace.
func (h *Hub) NamespaceOverrides(ctx context.Context) ([]*placementv1.ResourceOverride, error) {
	return h.placing.namespaceOverrides.list(ctx, "")
}

// NamespaceOverridesDefined returns when their kind was defined, as Defined does.
func (h *Hub) NamespaceOverridesDefined(ctx context.Context) (time.Time, error) {
	return h.defined(ctx, resourceOverrideKind)
}

// CommitNamespaceOverride makes the labels, annotations, finalizers and spec of
// the override those of next, if it still is as old was read.
func (h *Hub) CommitNamespaceOverride(ctx context.Context, old, next *placementv1.ResourceOverride) (*placementv1.ResourceOverride, error) {
	return updateWire(ctx, h.placing.namespaceOverrides, old, next)
}

// NamespaceOverrideSnapshot is the snapshot of that name.
func (h *Hub) NamespaceOverrideSnapshot(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverrideSnapshot, error) {
	return h.placing.namespaceOverrideSnaps.get(ctx, name)
}

// NamespaceOverrideSnapshots are the snapshots of all overrides with a
// namespace.
func (h *Hub) NamespaceOverrideSnapshots(ctx context.Context) ([]*placementv1.ResourceOverrideSnapshot, error) {
	return h.placing.namespaceOverrideSnaps.list(ctx, "")
}

// NamespaceOverrideSnapshotsOf are the snapshots of an override.
func (h *Hub) NamespaceOverrideSnapshotsOf(ctx context.Context, override types.NamespacedName) ([]*placementv1.ResourceOverrideSnapshot, error) {
	all, err := ownedBy(ctx, h.placing.namespaceOverrideSnaps, placementv1.LabelParentOverride, override.Name, override.Namespace)
	if err != nil {
		return nil, err
	}
	// Out of a watch's store come those of its namesakes in other namespaces.
	own := all[:0:0]
	for _, s := range all {
		if s.Namespace == override.Namespace {
			own = append(own, s)
		}
	}
	return own, nil
}

// CommitNamespaceOverrideSnapshot makes the snapshot next's, if it still is as
// old was read. A nil old makes it.
func (h *Hub) CommitNamespaceOverrideSnapshot(ctx context.Context, old, next *placementv1.ResourceOverrideSnapshot) (*placementv1.ResourceOverrideSnapshot, error) {
	if old == nil {
		return createWire(ctx, h.placing.namespaceOverrideSnaps, next, next.Labels[placementv1.LabelParentOverride])
	}
	return updateWire(ctx, h.placing.namespaceOverrideSnaps, old, next)
}

// DeleteNamespaceOverrideSnapshot deletes the snapshot as it was read.
func (h *Hub) DeleteNamespaceOverrideSnapshot(ctx context.Context, s *placementv1.ResourceOverrideSnapshot) error {
	return deleteWire(ctx, h.placing.namespaceOverrideSnaps, s)
}
