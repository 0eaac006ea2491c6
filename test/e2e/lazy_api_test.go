// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The value Lazy and no other.
func TestL1Values(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp").SelectingNothing()
		s.Apply(p.Lazy())
		for _, bad := range []string{"lazy", "LAZY", "Eager", "Immediate", " "} {
			s.Rejects(s.Policy("bad").SelectingNothing().set("spec.activationPreference", bad))
		}
	})
}

// Without the field a policy's change drives the binding at once.
func TestL2Immediate(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Apply(p.To("member2", "member3"))
		s.Expect(nginx).In("member2", "member3")
	})
}

// All gates are off.
func TestL3NoGate(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(p.To("member2")) })
	})
}

// The field itself may come and go.
func TestL4SetChangeRemove(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() {
			s.Apply(p.Lazy())
			s.Apply(p.Eager())
			s.Apply(p.Lazy())
		})
		s.Apply(p.Eager().To("member2"))
		s.Expect(nginx).In("member2")
	})
}

// propagation are changes of what a policy says about propagation.
func propagation(p policy) map[string]policy {
	return map[string]policy{
		"placement":          p.To("member2"),
		"placement by label": p.set("spec.placement", map[string]any{"clusterAffinity": map[string]any{"exclude": list("member1")}}),
		"replica scheduling": p.set("spec.placement.replicaScheduling", map[string]any{"replicaSchedulingType": "Duplicated"}),
		"conflictResolution": p.Overwriting(),
		"failover": p.set("spec.failover", map[string]any{"application": map[string]any{
			"decisionConditions": map[string]any{"tolerationSeconds": int64(60)}, "purgeMode": "Directly",
		}}),
		"propagateDeps": p.WithDependencies(),
		"preserve":      p.set("spec.preserveResourcesOnDeletion", true),
	}
}

// The fundamental criterion: under a Lazy policy no change of it writes a Work.
func TestL5FundamentalCriterion(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() {
			for _, changed := range propagation(p) {
				s.Apply(changed)
			}
			s.Delete(p)
			s.Apply(p.To("member3"))
		})
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

// The binding holds the snapshot, and a new scheduling reads nothing else.
func TestL6Snapshot(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy().Overwriting(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() {
			s.Apply(s.Policy("pp").Lazy().WithDependencies().To("member2"))
			member3 := newThing(clusters, "", "member3")
			s.Patch(member3, fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":\"x\"}}}", s.ns))
			s.Patch(member3, fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":null}}}", s.ns))
		})
		s.Expect(nginx).Binding(func(b map[string]any) error {
			got := map[string]any{
				"clusters": at(b, "spec.placement.clusterAffinity.clusterNames"), "conflict": text(b, "spec.conflictResolution"), "deps": truth(b, "spec.propagateDeps"),
			}
			if d := cmp.Diff(map[string]any{"clusters": list("member1"), "conflict": "Overwrite", "deps": false}, got); d != "" {
				return fmt.Errorf("snapshot (-want +got):\n%s", d)
			}
			return nil
		})
	})
}
