// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout/staged"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
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
			r, err = h.ApprovalRequest(ctx, name)
			if errors.Is(err, outcome.ErrGone) {
				return fmt.Errorf("careq/%s %w: 'kubectl get careq' lists them", name, errNotFound)
			}
			if err != nil {
				return fmt.Errorf("approval request %s: %w", name, installed(err))
			}
			if err := waits(ctx, h, r); err != nil {
				return err
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

// waits returns an error if the run of the request does not wait any more. A person
// who may not read runs gets no error.
func waits(ctx context.Context, h *hub.Hub, r *placementv1.ClusterApprovalRequest) error {
	run, err := h.UpdateRun(ctx, r.Spec.TargetUpdateRun)
	switch {
	case errors.Is(err, outcome.ErrGone):
		return fmt.Errorf("run %s of careq/%s %w: nothing waits for the approval", r.Spec.TargetUpdateRun, r.Name, errNotFound)
	case err != nil:
		return unlessForbidden(err)
	case staged.Ended(run):
		return fmt.Errorf("run %s has ended: %s", run.Name, meta.FindStatusCondition(run.Status.Conditions, placementv1.ConditionSucceeded).Message)
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
