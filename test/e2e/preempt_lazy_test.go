// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

func TestL21PriorityAtOnce(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		p1, p2 := s.Policy("pp1").Lazy().Priority(2), s.Policy("pp2").Lazy().Priority(1).Always().To("member2")
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Apply(p2)
		s.Unchanged(func() {
			s.Apply(p2.Priority(3))
			s.Expect(nginx).ClaimedBy(p2)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestL22PreemptionAtOnce(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		p1, p2 := s.Policy("pp1").Lazy(), s.Policy("pp2").Lazy().Priority(1).To("member2")
		s.Apply(p1, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Apply(p2)
		s.Unchanged(func() {
			s.Apply(p2.Always())
			s.Expect(nginx).ClaimedBy(p2)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

// Case "taken over by another policy".
func TestL35TakenOver(t *testing.T) {
	t.Parallel()
	t.Run("immediate", func(t *testing.T) {
		each(t, preemption, everyForm, func(s *scenario) {
			nginx := s.Template("nginx")
			s.Apply(s.Policy("pp1").Lazy(), nginx)
			s.Expect(nginx).In("member1")
			p2 := s.Policy("pp2").Priority(2).Always().To("member2")
			s.Apply(p2)
			s.Expect(nginx).In("member2").ClaimedBy(p2)
		})
	})
	t.Run("lazy", func(t *testing.T) {
		each(t, preemption, everyForm, func(s *scenario) {
			nginx := s.Template("nginx")
			s.Apply(s.Policy("pp1"), nginx)
			s.Expect(nginx).In("member1")
			p2 := s.Policy("pp2").Lazy().Priority(2).Always().To("member2")
			s.Unchanged(func() {
				s.Apply(p2)
				s.Expect(nginx).ClaimedBy(p2)
			})
			s.Touch(nginx)
			s.Expect(nginx).In("member2")
		})
	})
}

func TestL43Combined3(t *testing.T) {
	each(t, preemption, []form{cpp}, func(s *scenario) {
		cpp1, nginx := s.ClusterPolicy("cpp1").Lazy().To("member1"), s.Template("nginx")
		s.Apply(cpp1)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(cpp1)
		pp2 := s.NamespacedPolicy("pp2").Priority(2).Always().To("member2")
		s.Apply(pp2)
		s.Expect(nginx).In("member2").ClaimedBy(pp2)
	})
}

func TestL44Combined4(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p1, nginx := s.Policy("pp1").Lazy().To("member1"), s.Template("nginx")
		s.Apply(p1)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		p2 := s.Policy("pp2").Lazy().Priority(2).Always().To("member2")
		s.Unchanged(func() {
			s.Apply(p2)
			s.Expect(nginx).ClaimedBy(p2)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

// Takeover and suspension: that of the policy that holds the template counts,
// at once, also if the policy is Lazy.
func TestY3TakeoverAndSuspension(t *testing.T) {
	t.Parallel()
	for name, lazy := range map[string]bool{"immediate": false, "lazy": true} {
		t.Run(name, func(t *testing.T) {
			each(t, preemption, everyForm, func(s *scenario) {
				p := func(name string, priority int64) policy {
					made := s.Policy(name).Priority(priority).Always()
					if lazy {
						made = made.Lazy()
					}
					return made
				}
				nginx := s.Template("nginx")
				s.Apply(p("pp1", 1))
				s.Apply(nginx)
				s.Expect(nginx).In("member1")
				s.Apply(p("pp2", 2).Suspended())
				s.Expect(nginx).ClaimedBy(p("pp2", 2)).Work("member1", isSuspended)
				s.Apply(p("pp3", 3))
				s.Expect(nginx).ClaimedBy(p("pp3", 3)).Work("member1", isNotSuspended)
				s.Apply(nginx.At(4))
				s.Expect(nginx).At(4, "member1")
			})
		})
	}
}

// Combined 1 and 2 with everything lost between the claim and the change.
func TestY1RestartBetween(t *testing.T) {
	for name, leave := range departures {
		t.Run(name, func(t *testing.T) {
			alone(t, preemption, everyForm, func(s *scenario) {
				p1, p2, nginx := s.Policy("pp1").Lazy().To("member1"), s.Policy("pp2").Lazy().To("member2"), s.Template("nginx")
				s.Apply(p1)
				s.Apply(nginx)
				s.Expect(nginx).In("member1").ClaimedBy(p1)
				s.Unchanged(func() {
					s.Apply(p2)
					s.Settle()
					leave(s, p1)
					s.Expect(nginx).ClaimedBy(p2)
					s.Restart()
					s.Flush()
				})
				s.Touch(nginx)
				s.Expect(nginx).In("member2").ClaimedBy(p2)
			})
		})
	}
}
