// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// PlacementNow is Placement, but always reads from the API server.
func (h *Hub) PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	r, err := h.placing.placements.getLive(ctx, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// PlacementsRetired reports whether the CustomResourceDefinition of placements is being
// deleted, or gone: then placements are deleted along with it, and nobody asked for
// that one by one.
func (h *Hub) PlacementsRetired(ctx context.Context) (bool, error) {
	return h.retired(ctx, placementKind)
}

// MembersRetired reports the same for MemberClusters.
func (h *Hub) MembersRetired(ctx context.Context) (bool, error) { return h.retired(ctx, memberKind) }

// retired reports whether the kind's CustomResourceDefinition is being deleted, or
// gone.
func (h *Hub) retired(ctx context.Context, r resource) (bool, error) {
	d, err := h.metadata(ctx, r)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && d.DeletionTimestamp != nil, err
}

// PlacementWorksUndefined reports whether the CustomResourceDefinition of the Works of
// placements is gone, and with it all of them. That the kind is not served does not say
// so.
func (h *Hub) PlacementWorksUndefined(ctx context.Context) (bool, error) {
	return h.undefined(ctx, workKinds[propagation.PlacementForm])
}

// PolicySnapshotsUndefined reports the same for the snapshots of placements' policies.
func (h *Hub) PolicySnapshotsUndefined(ctx context.Context) (bool, error) {
	return h.undefined(ctx, policySnapshotKind)
}

// undefined reports whether the kind's CustomResourceDefinition is gone.
func (h *Hub) undefined(ctx context.Context, r resource) (bool, error) {
	_, err := h.metadata(ctx, r)
	if missing(err) {
		return true, nil
	}
	return false, err
}

// MemberNow is Member, but always reads from the API server.
func (h *Hub) MemberNow(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error) {
	r, err := h.placing.members.getLive(ctx, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// PlacementBindingsNow is PlacementBindingsOf, but always reads from the API server.
func (h *Hub) PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}

// PolicySnapshotsNow is PolicySnapshotsOf, but always reads from the API server.
func (h *Hub) PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}
