// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// taskType is what a request says of the place of its task.
var taskType = map[string]string{before: placementv1.TaskBeforeStage, after: placementv1.TaskAfterStage}

// Where a task has its place, as the name of its request has it.
const (
	before = "before"
	after  = "after"
)

// tasks advances the tasks before or after a stage, and returns what of them is still to
// be done. A TimedWait ends its time after since.
func (p *planner) tasks(s *placementv1.StageUpdatingStatus, when string, tasks []placementv1.StageTask, statuses *[]placementv1.StageTaskStatus, since time.Time) (open []string) {
	for i, task := range tasks {
		if len(*statuses) <= i {
			*statuses = append(*statuses, placementv1.StageTaskStatus{Type: task.Type})
		}
		status := &(*statuses)[i]
		why := ""
		switch task.Type {
		case placementv1.StageTaskTimedWait:
			why = p.timed(task, status, since)
		case placementv1.StageTaskApproval:
			why = p.approval(s.StageName, when, status)
		}
		if why != "" {
			open = append(open, why)
		}
	}
	return open
}

// timed says until when a task waits; empty: no longer.
func (p *planner) timed(task placementv1.StageTask, status *placementv1.StageTaskStatus, since time.Time) string {
	until := since
	if task.WaitTime != nil {
		until = since.Add(task.WaitTime.Duration)
	}
	if p.Now.Before(until) {
		why := "waits until " + until.UTC().Format(time.RFC3339)
		p.set(&status.Conditions, placementv1.ConditionWaitTimeElapsed, metav1.ConditionFalse, placementv1.ReasonWaitTimeNotElapsed, why)
		return why
	}
	p.set(&status.Conditions, placementv1.ConditionWaitTimeElapsed, metav1.ConditionTrue, placementv1.ReasonWaitTimeElapsed, "the time has passed")
	return ""
}

// approval says which approval a task waits for; empty: it was given.
func (p *planner) approval(stage, when string, status *placementv1.StageTaskStatus) string {
	if meta.IsStatusConditionTrue(status.Conditions, placementv1.ConditionApprovalRequestApproved) {
		return ""
	}
	name := fmt.Sprintf("%s-%s-%s", p.Run.Name, when, stage)
	status.ApprovalRequestName = name
	waits := "waits for the approval of ClusterApprovalRequest " + name
	i := slices.IndexFunc(p.Requests, func(r *placementv1.ClusterApprovalRequest) bool { return r.Name == name })
	if i < 0 {
		p.plan.Create = append(p.plan.Create, p.request(name, when, stage))
		return waits
	}
	request := p.Requests[i]
	if owner := metav1.GetControllerOf(request); owner == nil || owner.UID != p.Run.UID {
		if request.DeletionTimestamp == nil {
			p.plan.Delete = append(p.plan.Delete, request)
		}
		return waits
	}
	p.set(&status.Conditions, placementv1.ConditionApprovalRequestCreated, metav1.ConditionTrue, placementv1.ReasonApprovalRequestCreated, "the request is made")
	if !meta.IsStatusConditionTrue(request.Status.Conditions, placementv1.ConditionApproved) {
		return waits
	}
	p.set(&status.Conditions, placementv1.ConditionApprovalRequestApproved, metav1.ConditionTrue, placementv1.ReasonApprovalRequestApproved, "the request is approved")
	if !meta.IsStatusConditionTrue(request.Status.Conditions, placementv1.ConditionApprovalAccepted) {
		p.plan.Accept = append(p.plan.Accept, request)
	}
	return ""
}

// Accepted is the status of a request whose approval was seen.
func Accepted(r *placementv1.ClusterApprovalRequest, now time.Time) placementv1.ApprovalRequestStatus {
	status := *r.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: placementv1.ConditionApprovalAccepted, Status: metav1.ConditionTrue, Reason: placementv1.ReasonApprovalAccepted,
		Message: "the run goes on", ObservedGeneration: r.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
	return status
}

// request asks somebody to approve what comes before or after a stage.
func (p *planner) request(name, when, stage string) *placementv1.ClusterApprovalRequest {
	yes := true
	r := &placementv1.ClusterApprovalRequest{Spec: placementv1.ApprovalRequestSpec{TargetUpdateRun: p.Run.Name, TargetStage: stage}}
	r.Name = name
	r.Labels = map[string]string{
		placementv1.LabelTargetUpdateRun: p.Run.Name, placementv1.LabelTargetStage: stage,
		placementv1.LabelTaskType: taskType[when], placementv1.LabelIsLatestUpdateRunApproval: "true",
	}
	r.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterStagedUpdateRun,
		Name: p.Run.Name, UID: p.Run.UID, Controller: &yes,
	}}
	return r
}
