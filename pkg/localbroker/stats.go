// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import "github.com/prometheus/client_golang/prometheus"

// Counters of one Trigger, since it was added.
type Counters struct {
	// Handled events, those that ended in a dead letter not among them.
	Handled uint64
	// Coalesced: superseded by a newer event that tells the same.
	Coalesced uint64
	// Retried attempts.
	Retried uint64
	// Dead letters, those among them that have been dropped or handled since.
	Dead uint64
}

// Stats of one Trigger.
type Stats struct {
	Counters
	// Queued entries, ready or behind others of their partition key.
	Queued int
	// Retrying entries wait for a retry.
	Retrying int
	// Running entries.
	Running int
	// DeadLetters that are kept.
	DeadLetters int
}

// Stats of all Triggers, by name.
func (b *Broker) Stats() map[string]Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]Stats, len(b.queues))
	dead := map[string]int{}
	for _, x := range b.dead.byKey {
		dead[x.Trigger]++
	}
	for name, q := range b.queues {
		asleep := q.asleep()
		out[name] = Stats{
			Counters: q.count, Queued: len(q.waiting) - asleep, Retrying: asleep,
			Running: q.running, DeadLetters: dead[name],
		}
	}
	return out
}

type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Stats) float64
}

func newMetric(name, help string, kind prometheus.ValueType, value func(Stats) float64) metric {
	return metric{prometheus.NewDesc("sluice_broker_"+name, help, []string{"trigger"}, nil), kind, value}
}

var metrics = []metric{
	newMetric("queued", "Events that wait in the Trigger's queue.", prometheus.GaugeValue, func(s Stats) float64 { return float64(s.Queued) }),
	newMetric("retrying", "Events that wait for a retry.", prometheus.GaugeValue, func(s Stats) float64 { return float64(s.Retrying) }),
	newMetric("running", "Events that are being handled.", prometheus.GaugeValue, func(s Stats) float64 { return float64(s.Running) }),
	newMetric("dead_letters", "Dead letters that are kept.", prometheus.GaugeValue, func(s Stats) float64 { return float64(s.DeadLetters) }),
	newMetric("handled_total", "Events handled.", prometheus.CounterValue, func(s Stats) float64 { return float64(s.Handled) }),
	newMetric("coalesced_total", "Events superseded by a newer one.", prometheus.CounterValue, func(s Stats) float64 { return float64(s.Coalesced) }),
	newMetric("retried_total", "Attempts that were repeated.", prometheus.CounterValue, func(s Stats) float64 { return float64(s.Retried) }),
	newMetric("dead_total", "Events that became dead letters.", prometheus.CounterValue, func(s Stats) float64 { return float64(s.Dead) }),
}

// Describe implements prometheus.Collector.
func (b *Broker) Describe(out chan<- *prometheus.Desc) {
	for _, m := range metrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (b *Broker) Collect(out chan<- prometheus.Metric) {
	for trigger, s := range b.Stats() {
		for _, m := range metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), trigger)
		}
	}
}
