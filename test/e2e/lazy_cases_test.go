// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

func TestL28PolicyFirst(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestL29ResourceFirst(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(nginx)
		s.Settle()
		s.Unchanged(func() {
			s.Apply(p)
			s.Expect(nginx).ClaimedBy(p)
		})
		s.Expect(nginx).Nowhere()
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member1").At(2)
	})
}

// Case "still managed".
func TestL30StillManaged(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(p.To("member2", "member3")) })
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

// Case "no longer matched".
func TestL31NoLongerMatched(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() {
			s.Apply(p.SelectingNothing())
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In("member1").Binding(func(map[string]any) error { return nil })
	})
}

// The template is relabelled, so that its policy no longer selects it.
func TestL31Relabelled(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("team", "blue")
		p := s.Policy("pp").SelectingLabel(nginx, "team", "blue")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() {
			s.Patch(nginx, "{\"metadata\":{\"labels\":{\"team\":\"red\"}}}")
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).Labelled("member1", "team", "blue")
	})
}

// Case "policy deleted".
func TestL32PolicyDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() {
			s.Delete(p)
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In("member1")
	})
}

// What changes while nobody holds the template is pending: nothing of it
// reaches a member, and the binding says so.
func TestL32PendingContent(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		s.Unchanged(func() {
			s.Apply(nginx.At(5))
			s.Apply(s.override("over", nginx, "by", "override", "member3"))
		})
		s.Expect(nginx).In("member1").At(1).Binding(isCondition("Active", "False", "NoPolicy"))
	})
}

func TestL33ImmediateSuccessor(t *testing.T) {
	t.Parallel()
	for name, leave := range departures {
		t.Run(name, func(t *testing.T) {
			each(t, gatesOff, everyForm, func(s *scenario) {
				p, nginx := s.Policy("pp1").Lazy().Priority(2), s.Template("nginx")
				s.Apply(p, s.Policy("pp2").To("member2"))
				s.canary() // what was applied before has been heard of
				s.Apply(nginx)
				s.Expect(nginx).In("member1").ClaimedBy(p)
				leave(s, p)
				s.Expect(nginx).In("member2").ClaimedBy(s.Policy("pp2"))
			})
		})
	}
}

// departures are the ways in which a policy leaves its template.
var departures = map[string]func(s *scenario, p policy){
	"deleted":   func(s *scenario, p policy) { s.Delete(p) },
	"unmatched": func(s *scenario, p policy) { s.Apply(p.SelectingNothing()) },
}

func TestL34LazySuccessor(t *testing.T) {
	t.Parallel()
	for name, leave := range departures {
		t.Run(name, func(t *testing.T) {
			each(t, gatesOff, everyForm, func(s *scenario) {
				p, nginx := s.Policy("pp1").Priority(2), s.Template("nginx")
				s.Apply(p, s.Policy("pp2").To("member2").Lazy(), nginx)
				s.Expect(nginx).In("member1").ClaimedBy(p)
				s.Unchanged(func() {
					leave(s, p)
					s.Expect(nginx).ClaimedBy(s.Policy("pp2"))
				})
				s.Touch(nginx)
				s.Expect(nginx).In("member2")
			})
		})
	}
}

// Case "formerly unclaimed".
func TestL36FormerlyUnclaimed(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp1").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		late := s.Policy("pp2").To("member2").Lazy()
		s.Unchanged(func() {
			s.Apply(late)
			s.Expect(nginx).ClaimedBy(late)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}
