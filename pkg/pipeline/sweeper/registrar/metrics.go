// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics of members as placements see them, under their released names. The result is
// always true.
var (
	joins = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: "join_result_counter",
		Help: "Members that joined the placements, by result.",
	}, []string{"result"})
	leaves = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: "leave_result_counter",
		Help: "Members that left the placements, by result.",
	}, []string{"result"})
)
