// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func (p policy) affinity(a map[string]any) policy {
	return p.set("spec.placement", map[string]any{"clusterAffinity": a})
}

func TestScheduleExclude(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").affinity(map[string]any{"exclude": list("member2")}), nginx)
		s.Expect(nginx).In("member1", "member3")
	})
}

func TestScheduleEverywhere(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").set("spec.placement", nil), nginx)
		s.Expect(nginx).In(members...)
	})
}

// A cluster that comes to match gets the template, Lazy or not: clusters are
// no policies.
func TestScheduleByLabel(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		label := func(member, value string) {
			s.Patch(newThing(clusters, "", member), fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":%s}}}", s.ns, value))
		}
		for _, m := range members {
			s.Cleanup(func() { s.unlabel(m) })
		}
		label("member1", "\"yes\"")
		s.Apply(s.Policy("pp").Lazy().affinity(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{s.ns: "yes"}}}), nginx)
		s.Expect(nginx).In("member1")
		label("member3", "\"yes\"")
		s.Expect(nginx).In("member1", "member3")
	})
}

// Clusters that are alike in a label are one group, of which the policy bounds the
// number. Who changes the policy moves the template, and explain says why one does not
// have it.
func TestScheduleSpreadByLabel(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		for i, m := range members[:2] {
			s.Cleanup(func() { s.unlabel(m) })
			s.Patch(newThing(clusters, "", m), fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":\"%d\"}}}", s.ns, i))
		}
		spreading := func(groups, most int64) policy {
			return s.Policy("pp").affinity(map[string]any{"clusterNames": list(members...)}).set("spec.placement.spreadConstraints", []any{
				map[string]any{"spreadByLabel": s.ns, "minGroups": int64(1), "maxGroups": groups},
				map[string]any{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": most},
			})
		}
		s.Apply(spreading(1, 3), nginx)
		s.Expect(nginx).In("member1")
		s.Apply(spreading(2, 3))
		s.Expect(nginx).In("member1", "member2")
		s.Apply(s.Policy("pp").affinity(map[string]any{"clusterNames": list(members...)}).set("spec.placement.spreadConstraints", []any{
			map[string]any{"spreadByLabel": s.ns, "minGroups": int64(3)}, map[string]any{"spreadByField": "cluster", "minGroups": int64(1)},
		}))
		s.Expect(nginx).Binding(isCondition("Scheduled", "False")).In("member1", "member2")
		s.explains("wants at least 3 groups and finds 2: member3 has no label "+s.ns, strings.ToLower(nginx.kind)+"/"+nginx.name())
	})
}

func (s *scenario) unlabel(member string) {
	c := s.lab.hub.on(clusters, "")
	_, err := c.Patch(s.background(), member, mergePatch, []byte(fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":null}}}", s.ns)), patchOptions)
	if err != nil {
		s.Errorf("take the label off %s: %v", member, err)
	}
}

// weighted divides the replicas by these weights of the members.
func (p policy) weighted(weights ...int64) policy {
	var all []any
	for i, w := range weights {
		all = append(all, map[string]any{"targetCluster": named(members[i]), "weight": w})
	}
	return p.set("spec.placement.replicaScheduling", map[string]any{
		"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted", "weightPreference": map[string]any{"staticWeightList": all},
	})
}

// Divided replicas add up to the template's.
func TestScheduleDivided(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx").Replicas(6)
		s.Apply(s.Policy("pp").toAll().weighted(1, 2, 3), nginx)
		for i, m := range members {
			s.Expect(nginx).Member(m, hasReplicas(int64(i+1)))
		}
		s.Apply(nginx.Replicas(12))
		for i, m := range members {
			s.Expect(nginx).Member(m, hasReplicas(int64(2*i+2)))
		}
	})
}

// An object of nearly the size that an API server takes.
func TestKindBig(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		big := s.ConfigMap("big").set("data.big", strings.Repeat("0123456789abcdef", 900<<10/16))
		s.Apply(s.Policy("pp").Selecting(big).toAll(), big)
		s.Expect(big).In(members...).Binding(isCondition("FullyApplied", "True"))
		s.Apply(big.At(2))
		s.Expect(big).At(2, members...)
	})
}

// joins has a member of the lab join, for the first time or again.
func (s *scenario) joins(member string) {
	s.Helper()
	if out, err := s.Sluice("join", member, "--cluster-kubeconfig", s.lab.kubeconfig(member)); err != nil {
		s.Errorf("join %s: %v\n%s", member, err, out)
	}
}

// A member leaves, what it was given stays there; it comes back, and gets what
// changed meanwhile.
func TestJoinLeaveAndComeBack(t *testing.T) {
	alone(t, gatesOff, []form{pp, cppcr}, func(s *scenario) {
		_, nginx := s.spread()
		s.party.together(func() {
			if out, err := s.Sluice("unjoin", "member3"); err != nil {
				s.Errorf("unjoin: %v\n%s", err, out)
			}
		})
		s.Expect(nginx).Works("member1", "member2")
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member2")
		s.Settle()
		s.Expect(nginx).At(1, "member3")
		s.party.together(func() { s.joins("member3") })
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
		s.Expect(nginx).At(2, members...).Works(members...)
	})
}
