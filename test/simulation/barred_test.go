// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strings"

	"sluice.dev/test/pipelinetest"
)

// What a member does not let Sluice do for a while.
const (
	bar   verb = "bar"
	unbar verb = "bar no more"
)

// barrable are the kinds that a member may refuse.
var barrable = []string{"Deployment", "ConfigMap", "ClusterRole", "namespace"}

// bars takes Sluice's rights to a kind in a member away and, mostly, gives them back.
func (d drawer) bars() []op {
	cluster := pick(d, clusters)
	ops := []op{{verb: bar, cluster: cluster, n: d.IntN(len(barrable)), writing: d.chance(60)}, {verb: deliver, n: 1 + d.IntN(80), seed: d.Uint64() | 1}}
	if d.chance(70) {
		ops = append(ops, op{verb: unbar, cluster: cluster})
	}
	return ops
}

// barring does that, and tells whether anything changed.
func (w *world) barring(o op) bool {
	m := w.members[o.cluster]
	if o.verb == unbar {
		was := m.Refuses
		m.Refuses = nil
		return was != nil
	}
	m.Refuses = func(r pipelinetest.Request) bool {
		return strings.HasPrefix(r.About, barrable[o.n]+" ") && (r.Writes() || !o.writing)
	}
	return true
}
