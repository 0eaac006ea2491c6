// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// PlacementNow is Placement, asked of the API server whatever is known.
func (h *Hub) PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	r, err := h.placing.placements.getLive(ctx, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// PlacementsRetired tells whether the kind of placements is being taken off the hub, or
// was: then those that are deleted go with it, and nobody asked for that one by one.
func (h *Hub) PlacementsRetired(ctx context.Context) (bool, error) {
	return h.retired(ctx, placementKind)
}

// MembersRetired tells the same of the clusters as placements see them.
func (h *Hub) MembersRetired(ctx context.Context) (bool, error) { return h.retired(ctx, memberKind) }

// retired asks the definition of the kind, which it had.
func (h *Hub) retired(ctx context.Context, r resource) (bool, error) {
	leaves, err := h.asked(ctx, r)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return leaves, err
}

// leaves tells whether the kind has a definition, which is being deleted. Who may not
// read definitions is told that it is not.
func (h *Hub) leaves(ctx context.Context, r resource) (bool, error) {
	if !strings.Contains(r.Group, ".") {
		return false, nil // the API server's own
	}
	leaves, err := h.asked(ctx, r)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	return leaves, err
}

// asked tells whether the definition of the kind is being deleted.
func (h *Hub) asked(ctx context.Context, r resource) (bool, error) {
	raw, err := h.definition(ctx, r)
	if err != nil {
		return false, fmt.Errorf("get the definition of %s: %w", r.GroupKind(), err)
	}
	var definition metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &definition); err != nil {
		return false, fmt.Errorf("decode the definition of %s: %w", r.GroupKind(), err)
	}
	return definition.DeletionTimestamp != nil, nil
}

// definition is that of a kind which the hub was extended by.
func (h *Hub) definition(ctx context.Context, r resource) ([]byte, error) {
	return do(ctx, h.client.Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", r.Plural+"."+r.Group))
}

// MemberNow is Member, asked of the API server whatever is known.
func (h *Hub) MemberNow(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error) {
	r, err := h.placing.members.getLive(ctx, types.NamespacedName{Name: name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// PlacementBindingsNow is PlacementBindingsOf, asked so.
func (h *Hub) PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}

// PolicySnapshotsNow is PolicySnapshotsOf, asked so.
func (h *Hub) PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.listLive(ctx, query{labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize})
}
