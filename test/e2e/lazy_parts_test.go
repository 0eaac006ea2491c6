// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Which templates a Lazy policy holds changes at once.
func TestL20SelectorsAtOnce(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx, other := s.Policy("pp").Lazy(), s.Template("nginx"), s.Template("other")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Apply(other)
		s.Unchanged(func() {
			s.Apply(p.Selecting(other))
			s.Expect(nginx).Unclaimed()
			s.Expect(other).ClaimedBy(p)
		})
		s.Expect(other).Nowhere()
		s.Touch(other)
		s.Expect(other).In("member1")
		s.Expect(nginx).In("member1")
	})
}

// deferred is that a change of the policy reaches the binding's field with the
// template's change, and not before.
func deferred(t *testing.T, field string, change func(p policy) policy, want any) {
	t.Helper()
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(change(p)) })
		s.Touch(nginx)
		s.Expect(nginx).Binding(func(b map[string]any) error {
			if got := at(b, field); !equality.Semantic.DeepEqual(got, want) {
				return fmt.Errorf("%s is %s, want %s", field, asJSON(got), asJSON(want))
			}
			return nil
		})
	})
}

func TestL23PlacementDeferred(t *testing.T) {
	deferred(t, "spec.placement.clusterAffinity.clusterNames", func(p policy) policy { return p.To("member3") }, list("member3"))
}

func TestL24ConflictResolutionDeferred(t *testing.T) {
	deferred(t, "spec.conflictResolution", policy.Overwriting, "Overwrite")
}

func TestL25FailoverDeferred(t *testing.T) {
	deferred(t, "spec.failover.application.decisionConditions.tolerationSeconds", func(p policy) policy {
		return p.set("spec.failover", map[string]any{"application": map[string]any{
			"decisionConditions": map[string]any{"tolerationSeconds": int64(60)}, "purgeMode": "Directly",
		}})
	}, int64(60))
}

func TestL26PropagateDepsDeferred(t *testing.T) {
	deferred(t, "spec.propagateDeps", policy.WithDependencies, true)
}

// Who holds the claim after it was decided anew says whether the refresh waits.
func TestL27SuccessorDecides(t *testing.T) {
	t.Parallel()
	t.Run("immediate", func(t *testing.T) {
		each(t, gatesOff, everyForm, func(s *scenario) {
			p, nginx := s.Policy("pp1").Lazy(), s.Template("nginx")
			s.Apply(p, nginx)
			s.Expect(nginx).In("member1")
			successor := s.Policy("pp2").To("member2")
			s.Unchanged(func() { s.Apply(successor) })
			s.Delete(p)
			s.Expect(nginx).In("member2").ClaimedBy(successor)
		})
	})
	t.Run("lazy", func(t *testing.T) {
		each(t, gatesOff, everyForm, func(s *scenario) {
			p, nginx := s.Policy("pp1"), s.Template("nginx")
			s.Apply(p, nginx)
			s.Expect(nginx).In("member1")
			successor := s.Policy("pp2").To("member2").Lazy()
			s.Unchanged(func() {
				s.Apply(successor)
				s.Delete(p)
				s.Expect(nginx).ClaimedBy(successor)
			})
			s.Touch(nginx)
			s.Expect(nginx).In("member2")
		})
	})
}
