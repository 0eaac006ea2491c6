// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	"sluice.dev/pkg/core/mirroring"
)

// Member is the member of that name as placements see it.
func (h *Hub) Member(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error) {
	return h.placing.members.get(ctx, types.NamespacedName{Name: name})
}

// Members are all members as placements see them, sorted by name.
func (h *Hub) Members(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	return h.placing.members.list(ctx, "")
}

// Fleet are all members, sorted by name, with the labels and taints that their Clusters
// have now: this is what decisions about placements look at.
func (h *Hub) Fleet(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	members, err := h.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	clusters, err := h.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	return mirroring.Present(members, clusters), nil
}

// CommitMember makes the labels, annotations, finalizers and spec of the member
// those of next, if it still is as old was read. A nil old makes it.
func (h *Hub) CommitMember(ctx context.Context, old, next *memberclusterv1.MemberCluster) (*memberclusterv1.MemberCluster, error) {
	if old == nil {
		return createWire(ctx, h.placing.members, next, "")
	}
	return updateWire(ctx, h.placing.members, old, next)
}

// CommitMemberStatus writes the status of the member as it was read.
func (h *Hub) CommitMemberStatus(ctx context.Context, m *memberclusterv1.MemberCluster, status memberclusterv1.MemberClusterStatus) (*memberclusterv1.MemberCluster, error) {
	return putStatus(ctx, h.placing.members, m, m.Status, status)
}

// DeleteMember deletes that very member.
func (h *Hub) DeleteMember(ctx context.Context, m *memberclusterv1.MemberCluster) error {
	return h.placing.members.delete(ctx, wireName(m), m.UID)
}

// DeleteMemberAt deletes that very member, unless it has changed since it was read.
func (h *Hub) DeleteMemberAt(ctx context.Context, m *memberclusterv1.MemberCluster) error {
	return h.placing.members.deleteAt(ctx, wireName(m), m.UID, m.ResourceVersion)
}
