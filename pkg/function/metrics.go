// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"github.com/prometheus/client_golang/prometheus"

	events "sluice.dev/apis/events/v1"
)

// Metrics counts handled events. A nil *Metrics counts nothing.
type Metrics struct {
	events  *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	retries *prometheus.CounterVec
}

// NewMetrics registers the metrics of stages with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_events_total",
			Help: "Events handled, by stage, outcome and type.",
		}, []string{"stage", "outcome", "type"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sluice_handle_seconds",
			Help:    "Time to handle an event, retries in process included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), // 1 ms to 16 s
		}, []string{"stage"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_retries_total",
			Help: "Lost races that were read again in process.",
		}, []string{"stage"}),
	}
	reg.MustRegister(m.events, m.seconds, m.retries)
	return m
}

func (m *Metrics) handled(l Line) {
	if m == nil {
		return
	}
	m.events.WithLabelValues(l.Stage, string(l.Outcome), typeLabel(l.Type)).Inc()
	m.seconds.WithLabelValues(l.Stage).Observe(l.Duration.Seconds())
}

func (m *Metrics) retried(stage string) {
	if m != nil {
		m.retries.WithLabelValues(stage).Inc()
	}
}

// typeLabel maps unknown event types to one label, so that senders cannot create any
// number of time series.
func typeLabel(t string) string {
	switch t {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted, events.Ping:
		return t
	}
	if _, ours := events.Catalog[t]; ours {
		return t
	}
	return "other"
}
