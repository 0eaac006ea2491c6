// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	quantity "k8s.io/apimachinery/pkg/api/resource"
)

// requested is how many CPUs a replica of these tests requests: some fit into a node.
const requested = 250

// roomIn is how many such replicas fit into the member, as its Cluster tells.
func (s *scenario) roomIn(member string) (n int64, err error) {
	s.Helper()
	summary, _ := at(s.Live(newThing(clusters, "", member)).Object, "status.resourceSummary").(map[string]any)
	if n, err = cpus(summary, "allocatable"); err != nil {
		return 0, fmt.Errorf("%s: %w", member, err)
	}
	taken, err := cpus(summary, "allocated")
	return (n - taken) / (requested * 1000), err
}

func cpus(summary map[string]any, of string) (int64, error) {
	q, err := quantity.ParseQuantity(text(summary, of+".cpu"))
	if err != nil {
		return 0, fmt.Errorf("no CPUs are %s: %v", of, summary)
	}
	return q.MilliValue(), nil
}

// divided is how many replicas the binding gives to each cluster.
func divided(b map[string]any) map[string]int64 {
	got := map[string]int64{}
	for _, c := range items(b, "spec.clusters") {
		n, _ := c["replicas"].(int64)
		got[text(c, "name")] = n
	}
	return got
}

// Replicas that are to be in few clusters fill the one with the most room, and then the
// next. Those that find no room anywhere wait, and what runs stays where it is.
func TestScheduleByRoom(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		rooms := map[string]int64{}
		s.Eventually(func() error {
			for _, m := range members {
				n, err := s.roomIn(m)
				if err != nil {
					return err
				}
				rooms[m] = n
			}
			return nil
		})
		most, all := int64(0), int64(0)
		for _, n := range rooms {
			most, all = max(most, n), all+n
		}
		container := map[string]any{"name": "nginx", "image": "nginx", "resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprint(requested)}}}
		nginx := s.Deployment("nginx").set("spec.template.spec.containers", []any{container}).Replicas(most + 1)
		few := map[string]any{"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
		s.Apply(s.Policy("pp").toAll().set("spec.placement.replicaScheduling", few), nginx)
		var before map[string]int64
		s.Expect(nginx).Binding(func(b map[string]any) error {
			before = divided(b)
			got := slices.Sorted(maps.Values(before))
			if len(got) != 2 || got[0] != 1 || got[1] != most {
				return fmt.Errorf("divided as %v, want %d in one cluster and 1 in another", before, most)
			}
			if cpu := text(b, "spec.replicaRequirements.resourceRequest.cpu"); cpu != fmt.Sprint(requested) {
				return fmt.Errorf("a replica requests %q", cpu)
			}
			return nil
		})
		for m, n := range before {
			s.Expect(nginx).Member(m, hasReplicas(n))
		}

		s.Apply(nginx.Replicas(10 * (all + 1)))
		s.Expect(nginx).Binding(isCondition("Scheduled", "False", "Unschedulable", "more replicas", "by its cpu")).Binding(func(b map[string]any) error {
			if got := divided(b); !maps.Equal(got, before) {
				return fmt.Errorf("divided as %v, want %v as before", got, before)
			}
			return nil
		})
		for m, n := range before {
			s.Expect(nginx).Member(m, hasReplicas(n))
		}
		s.explains("has room for", strings.ToLower(nginx.kind)+"/"+nginx.name())

		s.Apply(nginx.Replicas(most))
		s.Expect(nginx).Binding(isCondition("Scheduled", "True")).Binding(func(b map[string]any) error {
			sum := int64(0)
			for m, n := range divided(b) {
				if sum += n; n > before[m] {
					return fmt.Errorf("%s has %d replicas, and had %d", m, n, before[m])
				}
			}
			return differs("replicas", sum, most)
		})
	})
}
