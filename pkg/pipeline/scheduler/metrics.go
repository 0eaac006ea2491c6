// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"sluice.dev/pkg/core/evicting"
)

// Metrics of placements, under their released names.
var (
	cycles = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "scheduling_cycle_duration_milliseconds",
		Help:    "Time to pick the members of a placement.",
		Buckets: []float64{1, 5, 10, 50, 100, 500, 1000, 5000, 10000, 50000},
	}, []string{"is_failed", "needs_requeue"})
	workers = promauto.NewGauge(prometheus.GaugeOpts{
		Name: "scheduling_active_workers",
		Help: "Placements whose members are being picked now.",
	})
)

// evictions are those that were decided, under the released name of the metric.
var evictions = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fleet_workload_eviction_complete",
	Help: "When an eviction was decided, and whether it named what there is.",
}, []string{"name", "isCompleted", "isValid"})

// evicted records that the eviction was decided.
func evicted(v evicting.Verdict) {
	forget(v.Eviction.Name)
	evictions.WithLabelValues(v.Eviction.Name, "true", strconv.FormatBool(v.Valid)).SetToCurrentTime()
}

// forget deletes the metric of an eviction.
func forget(name string) { evictions.DeletePartialMatch(prometheus.Labels{"name": name}) }

// measured runs and measures one cycle. A cycle that fails is tried again.
func measured(cycle func() error) error {
	began := time.Now()
	workers.Inc()
	defer workers.Dec()
	err := cycle()
	failed := strconv.FormatBool(err != nil)
	cycles.WithLabelValues(failed, failed).Observe(float64(time.Since(began).Microseconds()) / 1000)
	return err
}
