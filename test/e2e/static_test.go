// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With the gate off, a policy's change acts at once.
func TestST1GateOff(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Apply(p.To("member2"))
		s.Expect(nginx).In("member2")
	})
}

// ST2, ST3: the API is the same; the field preemption is there and does nothing.
func TestST2ST3SameAPI(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Priority(3).Always().Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		if got := text(s.Live(p).Object, "spec.preemption"); got != "Always" {
			s.Errorf("spec.preemption is %q, it was Always", got)
		}
	})
}

// Case 1, test 1: a template that waits is propagated by the best policy that
// comes, without a change of its own.
func TestST4ST13WaitsForPolicy(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp1"), s.Template("nginx")
		s.Apply(nginx)
		s.Settle()
		s.Apply(p)
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestST4HighestOfSeveral(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("a").To("member2"), s.Policy("b").Priority(4), s.Policy("c").Priority(3).To("member3"))
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("b")).NeverIn("member2").NeverIn("member3")
	})
}

// Case 2, test 2. Nothing at all is written for the policy's change: the
// template is not even looked at again (ST26).
func TestST5ST8ST14ST26PolicyModified(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp1"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Rest()
		before := withoutStatus(s.Live(nginx))
		s.Unchanged(func() { s.Apply(p.To("member2")) })
		if d := cmp.Diff(before, withoutStatus(s.Live(nginx))); d != "" {
			s.Errorf("the policy's change wrote the template:\n%s", d)
		}
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p)
	})
}

// Case 3, test 3.
func TestST6ST7ST12ST15ST29HigherPolicy(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Priority(1), s.Policy("pp2").Priority(2).To("member2"), s.Template("nginx")
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Unchanged(func() { s.Apply(p2) })
		s.Expect(nginx).ClaimedBy(p1)
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p2)
	})
}

// A template that no policy ever propagated, since a Lazy one waits for its change.
func TestST6ST12HigherThanOneThatWaits(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Priority(1).Lazy(), s.Policy("pp2").Priority(2).To("member2"), s.Template("nginx")
		s.Apply(nginx)
		s.Apply(p1)
		s.Expect(nginx).ClaimedBy(p1)
		s.Unchanged(func() { s.Apply(p2) })
		s.Expect(nginx).Nowhere().ClaimedBy(p1)
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p2).NeverIn("member1")
	})
}

// Case 4, test 4.
func TestST16ModifiedAndHigher(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Priority(1), s.Policy("pp2").Priority(2).To("member2"), s.Template("nginx")
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(p1.To("member3")) })
		s.Unchanged(func() { s.Apply(p2) })
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p2).NeverIn("member3")
	})
}

// Case 5.
func TestST17NoLongerMatches(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Priority(2), s.Policy("pp2").Priority(1).To("member2"), s.Template("nginx")
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Unchanged(func() { s.Apply(p2) })
		s.Unchanged(func() {
			s.Apply(p1.SelectingNothing())
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In("member1").Unclaimed()
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p2)
	})
}

// Test 5: the claim is gone from the template and from its binding.
func TestST18HigherUnmatches(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Priority(1), s.Policy("pp2").Priority(2).To("member2"), s.Template("nginx")
		s.Apply(p1, p2)
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member2").ClaimedBy(p2)
		s.Unchanged(func() {
			s.Apply(p2.SelectingNothing())
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In("member2").Binding(func(map[string]any) error { return nil })
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member1").At(2).ClaimedBy(p1)
	})
}

// Test 6 and corner case 1: two replicas stay, three are pending, and all five
// go with the next policy at once. Meanwhile the binding tells of it (ST20).
func TestST9ST19ST20PendingReplicas(t *testing.T) {
	each(t, static, inNamespaces, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1"), s.Policy("pp2").To("member2"), s.Template("nginx").Replicas(2)
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1").Member("member1", hasReplicas(2))
		s.Unchanged(func() {
			s.Delete(p1)
			s.Expect(nginx).Unclaimed()
		})
		s.Unchanged(func() { s.Apply(nginx.Replicas(5)) })
		s.Expect(nginx).In("member1").Member("member1", hasReplicas(2)).Work("member1", func(w map[string]any) error {
			return hasReplicas(2)(items(w, "spec.workload.manifests")[0])
		}).Binding(isCondition("Active", "False", "NoPolicy", "changed"))
		s.Apply(p2)
		s.Expect(nginx).In("member2").Member("member2", hasReplicas(5)).ClaimedBy(p2).Binding(isCondition("Active", "True"))
	})
}

func TestST9NobodyMatches(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("team", "blue")
		p := s.Policy("pp").SelectingLabel(nginx, "team", "blue")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() {
			s.Apply(nginx.Label("team", "red").At(2))
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In("member1").At(1)
	})
}

// Nothing that is done to policies takes anything away from a member.
func TestST10ST11NoDeletionByPolicies(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1", "member2"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1", "member2")
		s.Unchanged(func() {
			s.Apply(p.To("member3"))
			s.Apply(s.Policy("high").Priority(9).To("no-such"))
			s.Apply(p.SelectingNothing())
			s.Delete(s.Policy("high"))
			s.Delete(p)
			s.Apply(p.To("member3").Lazy())
		})
		s.Expect(nginx).In("member1", "member2")
	})
}

// ST21: with the next policy, what runs stays where it is as far as it may, and
// what was pending did not count as running.
func TestST21Inertia(t *testing.T) {
	each(t, static, inNamespaces, func(s *scenario) {
		p1, nginx := s.Policy("pp1"), s.Template("nginx").Replicas(2)
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1")
		uid := s.LiveIn("member1", nginx).GetUID()
		s.Delete(p1)
		s.Apply(nginx.Replicas(5))
		s.Expect(nginx).Unclaimed()
		s.Apply(s.Policy("pp2").To("member1", "member2").set("spec.placement.replicaScheduling", map[string]any{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
		}))
		s.Expect(nginx).In("member1", "member2").Member("member1", hasReplicas(3)).Member("member2", hasReplicas(2))
		if s.LiveIn("member1", nginx).GetUID() != uid {
			s.Error("the object in member1 was made anew")
		}
	})
}

func TestST25TemplateDeleted(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In(members...)
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().NoBinding()
	})
}

func TestST27NoPreemption(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]gating{"static": static, "both gates": {static: true, preemption: true}} {
		t.Run(name, func(t *testing.T) {
			each(t, g, everyForm, func(s *scenario) {
				p, nginx := s.Policy("pp"), s.Template("nginx")
				s.Apply(p, nginx)
				s.Expect(nginx).In("member1")
				s.Unchanged(func() { s.Apply(s.Policy("high").Priority(9).Always().To("member2")) })
				s.Expect(nginx).ClaimedBy(p)
			})
		})
	}
}

// ST28: what a policy no longer selects is released, and what waits is claimed.
func TestST28ReleasesAndClaims(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx, other := s.Policy("pp"), s.Template("nginx"), s.Template("other")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Apply(other)
		s.Settle()
		s.Apply(p.Selecting(other))
		s.Expect(other).In("member1").ClaimedBy(p)
		s.Expect(nginx).In("member1").Unclaimed()
	})
}

func hasReplicas(n int64) func(obj map[string]any) error {
	return func(obj map[string]any) error { return differs("spec.replicas", number(obj, "spec.replicas"), n) }
}
