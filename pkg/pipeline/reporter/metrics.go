// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// completed stands for the condition of a placement whose conditions are all True.
const completed = "Completed"

// told is when the status of each placement was last written, under the released name
// of the metric: by the first condition that is not True, or completed.
var told = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fleet_workload_placement_status_last_timestamp_seconds",
	Help: "When the status of a placement was written last, by its generation and the first condition that is not True.",
}, []string{"name", "generation", "conditionType", "status", "reason"})

// measure records that the placement's status was written.
func measure(p *placementv1.ClusterResourcePlacement, conditions []metav1.Condition) {
	last := metav1.Condition{Type: completed, Status: metav1.ConditionTrue, Reason: completed}
	if i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue }); i >= 0 {
		last = conditions[i]
	}
	forget(p.Name)
	told.WithLabelValues(p.Name, strconv.FormatInt(p.Generation, 10), last.Type, string(last.Status), last.Reason).SetToCurrentTime()
}

// forget deletes the metrics of a placement.
func forget(name string) { told.DeletePartialMatch(prometheus.Labels{"name": name}) }
