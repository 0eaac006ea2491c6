// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
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
}, []string{"name", "generation", "conditionType", "status"})

// measure records that the placement's status was written.
func measure(p *placementv1.ClusterResourcePlacement, conditions []metav1.Condition) {
	what, status := completed, metav1.ConditionTrue
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue {
			what, status = c.Type, c.Status
			break
		}
	}
	forget(p.Name)
	told.WithLabelValues(p.Name, strconv.FormatInt(p.Generation, 10), what, string(status)).SetToCurrentTime()
}

// forget deletes the metrics of a placement.
func forget(name string) { told.DeletePartialMatch(prometheus.Labels{"name": name}) }
