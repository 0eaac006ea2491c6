// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout/staged"
)

// These have the released names and buckets.
var (
	updating = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "fleet_workload_update_run_stage_cluster_updating_duration_seconds",
		Help:    "How long it took to update the clusters of a stage of a run, without the tasks before and after it.",
		Buckets: []float64{15, 30, 60, 120, 300, 600, 1800, 3600},
	}, []string{"name"})
	approving = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "fleet_workload_update_run_approval_request_latency_seconds",
		Help:    "How long it took until somebody approved a request of a run.",
		Buckets: []float64{60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400},
	}, []string{"name", "taskType"})
)

// told is when the status of each run was last written, under the released name of the
// metric: by the last of its conditions.
var told = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fleet_workload_update_run_status_last_timestamp_seconds",
	Help: "When the status of a run of a staged update was written last, by its generation and the last of its conditions.",
}, []string{"name", "generation", "condition", "status", "reason"})

// measure records that the run's status was written, and which stages it ended.
func measure(was, r *placementv1.ClusterStagedUpdateRun) {
	for _, took := range staged.Updated(was.Status, r.Status) {
		updating.WithLabelValues(r.Name).Observe(took.Seconds())
	}
	told.DeletePartialMatch(prometheus.Labels{"name": r.Name})
	for _, of := range []string{placementv1.ConditionSucceeded, placementv1.ConditionProgressing, placementv1.ConditionInitialized} {
		if c := meta.FindStatusCondition(r.Status.Conditions, of); c != nil {
			told.WithLabelValues(r.Name, strconv.FormatInt(r.Generation, 10), c.Type, string(c.Status), c.Reason).SetToCurrentTime()
			return
		}
	}
}

// approved records how long a request of a run waited for its approval.
func approved(run string, request *placementv1.ClusterApprovalRequest) {
	if c := meta.FindStatusCondition(request.Status.Conditions, placementv1.ConditionApproved); c != nil {
		approving.WithLabelValues(run, request.Labels[placementv1.LabelTaskType]).Observe(c.LastTransitionTime.Sub(request.CreationTimestamp.Time).Seconds())
	}
}

// forget deletes the metrics of a run.
func forget(name string) {
	about := prometheus.Labels{"name": name}
	told.DeletePartialMatch(about)
	updating.DeletePartialMatch(about)
	approving.DeletePartialMatch(about)
}
