// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Works that are wanted again while they are being deleted, or that somebody deletes, are
// made anew. The hub fails between the end of the one and the beginning of the other, and
// the template may be gone before that is tried again: no object stays for that.

// remade is the history of a seed in which a policy leaves clusters out and takes them in
// again, and people delete Works and templates.
func remade(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0xa4e30000) //nolint:gosec // a seed
	c := d.climate()
	c.frail = true
	key := pick(d, []propagation.TemplateKey{nginx, nginx, settings})
	put := op{verb: putTemplate, key: key, content: content{image: 1, replicas: 2, tier: "front"}}
	policy := func() op {
		return op{verb: putPolicy, policy: namespaced("a"), spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: key.APIVersion, Kind: key.Kind, Name: key.Name}}, Placement: d.placement(),
		}}
	}
	h := []op{put, policy(), {verb: rest}}
	for range 4 + d.IntN(12) {
		o := policy()
		switch n := d.IntN(100); {
		case n < 25:
			o = op{verb: removeWork, key: key, cluster: pick(d, clusters)}
		case n < 40:
			o = op{verb: dropTemplate, key: key}
		case n < 50:
			o = put
			o.content.image = 1 + d.IntN(3)
		}
		h = append(h, o, op{verb: deliver, n: 1 + d.IntN(pick(d, []int{4, 12, 40})), seed: d.Uint64() | 1})
		if d.chance(10) {
			h = append(h, op{verb: rest})
		}
	}
	return c, h
}

// TestZ3HistoriesWhereWorksAreMadeAnew runs a fifth as many as TestSimulation.
func TestZ3HistoriesWhereWorksAreMadeAnew(t *testing.T) {
	first, last := share(5)
	did := each(t, first, last, remade)
	if t.Log(did); !t.Failed() && last-first >= 20 && did[removeWork] == 0 {
		t.Errorf("in none of %d histories anybody deleted a Work", last-first+1)
	}
}
