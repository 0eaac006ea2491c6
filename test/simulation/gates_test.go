// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// TestST38SwitchedGatesActAtAPace switches each gate with 25 templates that it
// concerns: switching StaticPolicy on changes nothing, switching it off, or
// preemption on, lets ten go with each tick.
func TestST38SwitchedGatesActAtAPace(t *testing.T) {
	const n = 25
	kind := func(s *policyv1alpha1.PropagationSpec) { s.ResourceSelectors[0].Name = "" }
	named := func(s *policyv1alpha1.PropagationSpec) {
		s.ResourceSelectors = nil
		for i := range n {
			k := deployment("shop", sprintf("d%d", i))
			s.ResourceSelectors = append(s.ResourceSelectors, policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})
		}
	}
	first, second := namespaced("a"), namespaced("b")
	for name, tc := range map[string]struct {
		before, after propagation.Features
		prepare       []op
		// to is where all go in the end.
		to string
	}{
		"static off, what waits without a claim":     {propagation.Features{Static: true}, propagation.Features{}, []op{{verb: dropPolicy, policy: first}, said(second, "m2", kind)}, "m2"},
		"static off, what waits for its policy":      {propagation.Features{Static: true}, propagation.Features{}, []op{said(first, "m2", kind)}, "m2"},
		"preemption on":                              {propagation.Features{}, propagation.Features{Preemption: true}, []op{said(second, "m2", preempting, named)}, "m2"},
		"static on":                                  {propagation.Features{}, propagation.Features{Static: true}, nil, "m1"},
		"static on over preemption, which it closes": {propagation.Features{}, propagation.Features{Static: true, Preemption: true}, []op{said(second, "m2", preempting, named)}, "m1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLab(t).start(climate{lag: true, lanes: true, follow: true, flights: 1})
			step := func(o op) { w.pass(3 * time.Second); w.do(o); w.rest() }
			step(op{verb: switchGates, gates: tc.before})
			step(said(first, "m1", kind))
			for i := range n {
				w.do(op{verb: putTemplate, key: deployment("shop", sprintf("d%d", i)), content: content{image: 1, replicas: 2, tier: "front"}})
			}
			w.rest()
			for _, o := range tc.prepare {
				step(o)
			}
			in := func(cluster string) (sum int) {
				for i := range n {
					if w.members[cluster].Object(deployment("shop", sprintf("d%d", i))) != nil {
						sum++
					}
				}
				return sum
			}
			if have := in("m1"); have != n || w.err != nil {
				t.Fatalf("before the switch %d of %d are in m1: %v", have, n, w.err)
			}
			w.do(op{verb: switchGates, gates: tc.after})
			w.drain()
			for tick, want := range []int{10, 20, n, n, n} {
				if tc.to == "m1" {
					want = 0
				}
				if moved := in("m2"); moved != want || in("m1") != n-want {
					t.Errorf("after %d ticks %d are in m2, want %d; %d in m1", tick, moved, want, in("m1"))
				}
				w.pass(2 * time.Second)
				w.tick()
				w.drain()
			}
			w.rest()
			if w.final(); w.err != nil {
				t.Error(w.err)
			}
		})
	}
}
