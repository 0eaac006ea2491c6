// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
)

func TestP1Priority(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp").SelectingNothing()
		s.Apply(p)
		if got := asJSON(at(s.Live(p).Object, "spec.priority")); got != "0" {
			s.Errorf("the default is %s, want 0", got)
		}
		for _, n := range []int64{-1, -2147483648, 2147483647} {
			s.Apply(p.Priority(n))
			if got := number(s.Live(p).Object, "spec.priority"); got != n {
				s.Errorf("priority is %d, want %d", got, n)
			}
		}
		s.Rejects(p.Priority(2147483648))
		s.Rejects(p.Priority(-2147483649))
	})
}

func TestP2Preemption(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp")
		s.Apply(p)
		if got := text(s.Live(p).Object, "spec.preemption"); got != "Never" {
			s.Errorf("the default is %q, want Never", got)
		}
		s.Apply(p.Always(), p.set("spec.preemption", "Never"))
		for _, bad := range []string{"always", "Sometimes", ""} {
			s.Rejects(p.set("spec.preemption", bad))
		}
	})
}

// With the gate off, Always is accepted and does nothing.
func TestP3GateOff(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(s.Policy("high").Priority(9).Always().To("member2")) })
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestP3GateOffAcrossScopes(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		p, nginx := s.ClusterPolicy("cpp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(s.NamespacedPolicy("pp").Always().To("member2")) })
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

// Manifests from before the fields mean what they meant.
func TestP4OldManifests(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("b"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() { s.Apply(s.Policy("a").To("member2")) })
		s.Apply(p.To("member3"))
		s.Expect(nginx).In("member3").ClaimedBy(p)
	})
}

func TestP5ExplicitPriority(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("team", "blue")
		s.Apply(s.Policy("a").To("member2"), s.Policy("b").To("member2").Priority(-3),
			s.Policy("c").Priority(7).SelectingLabel(nginx, "team", "blue"), s.Policy("d").To("member2").Priority(6))
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("c")).NeverIn("member2")
	})
}

func TestP6ImplicitPriority(t *testing.T) {
	t.Parallel()
	t.Run("name over labels", func(t *testing.T) {
		each(t, gatesOff, everyForm, func(s *scenario) {
			nginx := s.Template("nginx").Label("team", "blue")
			s.Apply(s.Policy("a").To("member2").SelectingLabel(nginx, "team", "blue"), s.Policy("b"))
			s.Settle()
			s.Apply(nginx)
			s.Expect(nginx).In("member1").ClaimedBy(s.Policy("b")).NeverIn("member2")
		})
	})
	t.Run("labels over kind", func(t *testing.T) {
		each(t, gatesOff, inNamespaces, func(s *scenario) {
			nginx := s.Template("nginx").Label("team", "blue")
			s.Apply(s.Policy("a").To("member2").SelectingKind(nginx), s.Policy("b").SelectingLabel(nginx, "team", "blue"))
			s.Settle()
			s.Apply(nginx)
			s.Expect(nginx).In("member1").ClaimedBy(s.Policy("b")).NeverIn("member2")
		})
	})
	t.Run("kind alone", func(t *testing.T) {
		each(t, gatesOff, inNamespaces, func(s *scenario) {
			nginx := s.Template("nginx")
			s.Apply(s.Policy("a").SelectingKind(nginx))
			s.Settle()
			s.Apply(nginx)
			s.Expect(nginx).In("member1").ClaimedBy(s.Policy("a"))
		})
	})
}

func TestP7NameDecides(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("b").To("member2"), s.Policy("c").To("member3"), s.Policy("a"))
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("a")).NeverIn("member2").NeverIn("member3")
	})
}

func TestP8NamespacedFirst(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.ClusterPolicy("a").Priority(100).To("member2"), s.NamespacedPolicy("z").SelectingKind(nginx).Priority(-100))
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(s.NamespacedPolicy("z")).NeverIn("member2")
	})
}

// What is claimed stays claimed, whatever comes later.
func TestP9ClaimStands(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]gating{"gate off": gatesOff, "gate on": preemption} {
		t.Run(name, func(t *testing.T) {
			each(t, g, everyForm, func(s *scenario) {
				p, nginx := s.Policy("b"), s.Template("nginx")
				s.Apply(p, nginx)
				s.Expect(nginx).In("member1")
				s.Unchanged(func() { s.Apply(s.Policy("a").Priority(9).To("member2")) })
				s.Touch(nginx)
				s.Settle()
				s.Expect(nginx).In("member1").ClaimedBy(p)
			})
		})
	}
}

// A policy that comes when the template waits for one claims it.
func TestL2ResourceFirst(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(nginx)
		s.Settle()
		s.Apply(s.Policy("pp"))
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("pp"))
	})
}

// P33: the claimed policy's priority is read from the policy; nothing on the
// template tells of it.
func TestP33NoPriorityOnTemplates(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp").Priority(5), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p).Template(func(obj map[string]any) error {
			for _, field := range []string{"metadata.labels", "metadata.annotations"} {
				m, _ := at(obj, field).(map[string]any)
				for k := range m {
					if k == "propagationpolicy.karmada.io/priority" || k == "clusterpropagationpolicy.karmada.io/priority" {
						return errors.New(k + " is on the template")
					}
				}
			}
			return nil
		})
	})
}

// Policies that match one template by the dozen.
func TestP5ManyPolicies(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Template("nginx")
		for i := range 30 {
			s.Apply(s.Policy(fmt.Sprintf("p%02d", i)).Priority(int64(i % 10)).To("member2"))
		}
		s.Apply(s.Policy("best").Priority(10))
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("best")).NeverIn("member2")
	})
}
