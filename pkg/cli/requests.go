// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// requested are the names of the ClusterApprovalRequests among the objects, and the others.
func requested(named []propagation.TemplateKey) (requests []string, others []propagation.TemplateKey) {
	for _, key := range named {
		if name, ok := hub.ApprovalRequestKeyOf(key); ok {
			requests = append(requests, name)
		} else {
			others = append(others, key)
		}
	}
	return requests, others
}

// approveRequests approves what runs of staged updates wait for.
func (o *approveOptions) approveRequests(ctx context.Context, h *hub.Hub, names []string) error {
	for _, name := range names {
		var r *placementv1.ClusterApprovalRequest
		err := again(func() (err error) {
			if r, err = h.ApprovalRequest(ctx, name); err != nil {
				return fmt.Errorf("approval request %s: %w", name, installed(err))
			}
			if o.dryRun {
				return nil
			}
			status := *r.Status.DeepCopy()
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type: placementv1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "Approved",
				Message: "approved with kubectl sluice approve", ObservedGeneration: r.Generation,
			})
			_, err = h.CommitApprovalRequestStatus(ctx, r, status)
			return err
		})
		if err != nil {
			return err
		}
		verb := "goes on"
		if o.dryRun {
			verb = "would go on"
		}
		o.screen.Printf("Run %s %s: %s of stage %s is approved.\n", r.Spec.TargetUpdateRun, verb, task(r), r.Spec.TargetStage)
	}
	return nil
}

// task says what a request is about.
func task(r *placementv1.ClusterApprovalRequest) string {
	if r.Labels[placementv1.LabelTaskType] == placementv1.TaskBeforeStage {
		return "the beginning"
	}
	return "the end"
}
