// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"sluice.dev/pkg/core/placing/telling"
)

// Metrics of placements' Works, under their released names.
var (
	applyTime = promauto.NewHistogram(prometheus.HistogramOpts{
		Name:    "work_apply_time_seconds",
		Help:    "Time to apply what a Work of a placement says to its member.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 14), // 5 ms to 40 s
	})
	worksDone = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: "fleet_work_processing_requests_total",
		Help: "Works of placements that were processed, by what came of them.",
	}, []string{"apply_status"})
	manifestsDone = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: "fleet_manifest_processing_requests_total",
		Help: "Manifests of Works of placements that were processed, by what came of them.",
	}, []string{"apply_status"})
)

// measure counts the outcomes of a placement's Work; an outcome without a reason was
// not reached.
func measure(began time.Time, outcomes []telling.Outcome) {
	status := telling.ReasonApplied
	for _, o := range outcomes {
		if o.Reason == "" {
			status = telling.ReasonFailedToApply
			continue
		}
		manifestsDone.WithLabelValues(o.Reason).Inc()
		if o.Reason != telling.ReasonApplied && o.Reason != telling.ReasonNoDiffFound && o.Reason != telling.ReasonFoundDiff {
			status = telling.ReasonFailedToApply
		}
	}
	worksDone.WithLabelValues(status).Inc()
	applyTime.Observe(time.Since(began).Seconds())
}
