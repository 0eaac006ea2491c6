// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// UpdateStrategy is the ClusterStagedUpdateStrategy of that name, read live.
func (h *Hub) UpdateStrategy(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateStrategy, error) {
	return h.placing.updateStrategies.get(ctx, types.NamespacedName{Name: name})
}

// UpdateRun is the ClusterStagedUpdateRun of that name.
func (h *Hub) UpdateRun(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateRun, error) {
	return h.placing.updateRuns.get(ctx, types.NamespacedName{Name: name})
}

// UpdateRuns are the runs of all placements.
func (h *Hub) UpdateRuns(ctx context.Context) ([]*placementv1.ClusterStagedUpdateRun, error) {
	return h.placing.updateRuns.list(ctx, "")
}

// CommitUpdateRunStatus writes the status of the run as it was read.
func (h *Hub) CommitUpdateRunStatus(ctx context.Context, r *placementv1.ClusterStagedUpdateRun, status placementv1.UpdateRunStatus) (*placementv1.ClusterStagedUpdateRun, error) {
	return putStatus(ctx, h.placing.updateRuns, r, r.Status, status)
}

// ApprovalRequest is the ClusterApprovalRequest of that name.
func (h *Hub) ApprovalRequest(ctx context.Context, name string) (*placementv1.ClusterApprovalRequest, error) {
	return h.placing.approvalRequests.get(ctx, types.NamespacedName{Name: name})
}

// ApprovalRequests are those of all runs.
func (h *Hub) ApprovalRequests(ctx context.Context) ([]*placementv1.ClusterApprovalRequest, error) {
	return h.placing.approvalRequests.list(ctx, "")
}

// CreateApprovalRequest makes the request.
func (h *Hub) CreateApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) (*placementv1.ClusterApprovalRequest, error) {
	return createWire(ctx, h.placing.approvalRequests, r, "")
}

// CommitApprovalRequestStatus writes the status of the request as it was read.
func (h *Hub) CommitApprovalRequestStatus(ctx context.Context, r *placementv1.ClusterApprovalRequest, status placementv1.ApprovalRequestStatus) (*placementv1.ClusterApprovalRequest, error) {
	return putStatus(ctx, h.placing.approvalRequests, r, r.Status, status)
}

// DeleteApprovalRequest deletes the request as it was read.
func (h *Hub) DeleteApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) error {
	return deleteWire(ctx, h.placing.approvalRequests, r)
}

// UpdateRunKeyOf is the name of the run that an event names.
func UpdateRunKeyOf(k propagation.TemplateKey) (string, bool) { return keyOf(k, updateRunKind) }

// ApprovalRequestKeyOf is the name of the request that an event names.
func ApprovalRequestKeyOf(k propagation.TemplateKey) (string, bool) {
	return keyOf(k, approvalRequestKind)
}
