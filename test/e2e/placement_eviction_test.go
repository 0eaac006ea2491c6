// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

var (
	evictions         = resource{group: placementGroup, version: "v1", kind: "ClusterResourcePlacementEviction", plural: "clusterresourceplacementevictions"}
	disruptionBudgets = resource{group: placementGroup, version: "v1", kind: "ClusterResourcePlacementDisruptionBudget", plural: "clusterresourceplacementdisruptionbudgets"}
)

// eviction asks that the placement gives up the member.
func (s *scenario) eviction(name string, p thing, member string) thing {
	return newThing(evictions, "", s.unique(name)).with("spec.placementName", p.name()).with("spec.clusterName", member)
}

// Evicts waits until the eviction says so: its conditions as "Executed=False", and words of
// the message of the last.
func (s *scenario) Evicts(e thing, conditions, words string) {
	s.Helper()
	s.Eventually(func() error {
		var said []string
		message := ""
		for _, c := range items(s.Live(e).Object, "status.conditions") {
			said, message = append(said, text(c, "type")+"="+text(c, "status")), text(c, "message")
		}
		if strings.Join(said, " ") != conditions || !strings.Contains(message, words) {
			return fmt.Errorf("%s says %v %q, want %s %q", e, said, message, conditions, words)
		}
		return nil
	})
}

// A member that fails is tainted and evicted: it loses the placement, which others keep, as
// far as the budget of the placement allows it; and it stays without as long as the taint.
func TestC53C104AnEviction(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm, p := s.aside()
		s.Apply(p)
		s.Says(p, carried...)
		s.holds(cm, "page", "one", members...)
		budget := newThing(disruptionBudgets, "", p.name()).with("spec.minAvailable", int64(3))
		s.Apply(budget)
		forbidden := s.eviction("forbidden", p, members[2])
		s.Apply(forbidden)
		s.Evicts(forbidden, "Valid=True Executed=False", "wants it available in 3 clusters, and without this one it would be in 2")

		again := s.eviction("again", p, members[2])
		s.Delete(budget)
		s.Unchanged(func() {
			s.Apply(again)
			s.Evicts(again, "Valid=True Executed=True", "picked the cluster again")
		})
		s.holds(cm, "page", "one", members...)

		s.taint(members[2], "maintenance")
		s.Settle()
		s.holds(cm, "page", "one", members...)
		away := s.eviction("away", p, members[2])
		s.Apply(away)
		s.Evicts(away, "Valid=True Executed=True", "no ClusterResourcePlacementDisruptionBudget limits it")
		s.Expect(cm).In(members[:2]...)
		decided := s.Picks(p, enough, members[:2]...)
		if why := text(decided[members[2]], "reason"); !strings.Contains(why, "has the taint maintenance=yes:NoSchedule") {
			s.Errorf("%s: %q", members[2], why)
		}
		for _, e := range []thing{forbidden, again, away} {
			s.Unchanged(func() { s.Settle() })
			s.Delete(e)
		}
		s.Expect(cm).In(members[:2]...)
		s.Says(p, carried...)
	})
}

func TestC104AnEvictionOfWhatIsNotThere(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		_, p := s.aside()
		fixed := p.with("metadata.name", p.name()+"-fixed").with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])})
		s.Apply(p)
		s.Says(p, carried...)
		nobody, elsewhere, named := s.eviction("nobody", p, "nobody"), s.eviction("elsewhere", p.with("metadata.name", "no-such"), members[0]), s.eviction("named", fixed, members[0])
		s.Apply(nobody, elsewhere)
		s.Evicts(nobody, "Valid=False", `has not picked the cluster "nobody"`)
		s.Evicts(elsewhere, "Valid=False", `there is no ClusterResourcePlacement "no-such"`)
		s.Eventually(func() error {
			metric := `fleet_workload_eviction_complete{isCompleted="true",isValid="false",name="` + nobody.name() + `"}`
			if !strings.Contains(s.metrics(), metric) {
				return fmt.Errorf("no %s", metric)
			}
			return nil
		})
		s.Apply(fixed)
		s.Picks(fixed, enough, members[0])
		s.Apply(named)
		s.Evicts(named, "Valid=False", "take the cluster out of its clusterNames")
		for words, o := range map[string]thing{
			"clusterName is immutable":                   nobody.with("spec.clusterName", members[0]),
			"placementName is immutable":                 nobody.with("spec.placementName", "other"),
			"spec.clusterName: Required value":           newThing(evictions, "", s.unique("none")).with("spec.placementName", p.name()),
			"cannot both be set":                         newThing(disruptionBudgets, "", p.name()).with("spec.minAvailable", int64(1)).with("spec.maxUnavailable", int64(1)),
			"should match '^((100|[0-9]{1,2})%|[0-9]+)$": newThing(disruptionBudgets, "", p.name()).with("spec.minAvailable", "101%"),
			"minAvailable must not be negative":          newThing(disruptionBudgets, "", p.name()).with("spec.minAvailable", int64(-1)),
		} {
			if err := s.apply(s.lab.hub, o); err == nil || !strings.Contains(err.Error(), words) {
				s.Errorf("%v is refused with %v, want %s", o, err, words)
			}
		}
	})
}
