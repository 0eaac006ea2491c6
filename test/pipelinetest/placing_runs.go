// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// Runs of staged updates, their strategies and requests.

// PutUpdateStrategy lets somebody make a strategy, or have it say something else. It tells
// whether that changed anything.
func (h *Hub) PutUpdateStrategy(name string, spec placementv1.UpdateStrategySpec) bool {
	return put(h, h.placing.updateStrategies, &placementv1.ClusterStagedUpdateStrategy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

// PutUpdateRun does so with a run, whose status stays.
func (h *Hub) PutUpdateRun(name string, spec placementv1.UpdateRunSpec) bool {
	run := &placementv1.ClusterStagedUpdateRun{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	h.mu.Lock()
	if r := h.placing.updateRuns.live[name]; r != nil {
		run.Status = r.value.Status
		run.CreationTimestamp = r.value.CreationTimestamp
	} else {
		run.CreationTimestamp = metav1.NewTime(h.second())
	}
	h.mu.Unlock()
	return put(h, h.placing.updateRuns, run)
}

// DropUpdateRun lets somebody delete a run, and with it its requests; false: there is none.
func (h *Hub) DropUpdateRun(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.placing.approvalRequests.rows() {
		if r.Spec.TargetUpdateRun == name {
			h.placing.approvalRequests.remove(r.Name, false)
		}
	}
	return h.placing.updateRuns.leave(name, false)
}

// ApproveRequest lets somebody approve a request. It tells whether that changed anything.
func (h *Hub) ApproveRequest(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.placing.approvalRequests.live[name]
	if r == nil || meta.IsStatusConditionTrue(r.value.Status.Conditions, placementv1.ConditionApproved) {
		return false
	}
	next := r.value.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{Type: placementv1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "Approved"})
	h.placing.approvalRequests.put(next, false)
	return true
}

// LiveUpdateRun is the run of that name; nil: there is none. For tests.
func (h *Hub) LiveUpdateRun(name string) *placementv1.ClusterStagedUpdateRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.placing.updateRuns.live[name]; r != nil {
		return r.value
	}
	return nil
}

// LiveUpdateRuns are all runs. For tests.
func (h *Hub) LiveUpdateRuns() []*placementv1.ClusterStagedUpdateRun {
	return h.placing.updateRuns.rows()
}

// UpdateStrategy answers as pkg/hub does.
func (h *Hub) UpdateStrategy(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateStrategy, error) {
	return h.placing.updateStrategies.one(ctx, name)
}

// UpdateRun answers as pkg/hub does.
func (h *Hub) UpdateRun(ctx context.Context, name string) (*placementv1.ClusterStagedUpdateRun, error) {
	return h.placing.updateRuns.one(ctx, name)
}

// UpdateRuns answers as pkg/hub does.
func (h *Hub) UpdateRuns(ctx context.Context) ([]*placementv1.ClusterStagedUpdateRun, error) {
	return h.placing.updateRuns.of(ctx, "", "")
}

// CommitUpdateRunStatus answers as pkg/hub does.
func (h *Hub) CommitUpdateRunStatus(ctx context.Context, r *placementv1.ClusterStagedUpdateRun, status placementv1.UpdateRunStatus) (*placementv1.ClusterStagedUpdateRun, error) {
	next := r.DeepCopy()
	next.Status = status
	return h.placing.updateRuns.status(ctx, r, next)
}

// ApprovalRequest answers as pkg/hub does.
func (h *Hub) ApprovalRequest(ctx context.Context, name string) (*placementv1.ClusterApprovalRequest, error) {
	return h.placing.approvalRequests.one(ctx, name)
}

// ApprovalRequests answers as pkg/hub does.
func (h *Hub) ApprovalRequests(ctx context.Context) ([]*placementv1.ClusterApprovalRequest, error) {
	return h.placing.approvalRequests.of(ctx, "", "")
}

// CreateApprovalRequest answers as pkg/hub does.
func (h *Hub) CreateApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) (*placementv1.ClusterApprovalRequest, error) {
	return h.placing.approvalRequests.commit(ctx, nil, r, true)
}

// CommitApprovalRequestStatus answers as pkg/hub does.
func (h *Hub) CommitApprovalRequestStatus(ctx context.Context, r *placementv1.ClusterApprovalRequest, status placementv1.ApprovalRequestStatus) (*placementv1.ClusterApprovalRequest, error) {
	next := r.DeepCopy()
	next.Status = status
	return h.placing.approvalRequests.status(ctx, r, next)
}

// DeleteApprovalRequest answers as pkg/hub does.
func (h *Hub) DeleteApprovalRequest(ctx context.Context, r *placementv1.ClusterApprovalRequest) error {
	return ignoreGone(h.placing.approvalRequests.end(ctx, r))
}
