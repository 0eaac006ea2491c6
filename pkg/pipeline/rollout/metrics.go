// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
)

// told is when the status of each run was last written, under the released name of the
// metric: by the last of its conditions.
var told = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fleet_workload_update_run_status_last_timestamp_seconds",
	Help: "When the status of a run of a staged update was written last, by its generation and the last of its conditions.",
}, []string{"name", "generation", "condition", "status", "reason"})

// measure records that the run's status was written.
func measure(r *placementv1.ClusterStagedUpdateRun) {
	forget(r.Name)
	for _, of := range []string{placementv1.ConditionSucceeded, placementv1.ConditionProgressing, placementv1.ConditionInitialized} {
		if c := meta.FindStatusCondition(r.Status.Conditions, of); c != nil {
			told.WithLabelValues(r.Name, strconv.FormatInt(r.Generation, 10), c.Type, string(c.Status), c.Reason).SetToCurrentTime()
			return
		}
	}
}

// forget deletes the metrics of a run.
func forget(name string) { told.DeletePartialMatch(prometheus.Labels{"name": name}) }
