// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// The sequence diagrams of the design, step by step.

func TestL37Simple1(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy().To("member1"), s.Template("nginx")
		s.Apply(p)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Unchanged(func() { s.Delete(p) })
		s.Expect(nginx).In("member1").Unclaimed()
	})
}

func TestL38Simple2(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy().To("member1"), s.Template("nginx")
		s.Apply(nginx)
		s.Unchanged(func() { s.Apply(p) })
		s.Expect(nginx).Nowhere()
		s.Touch(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestL39Simple3(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy().To("member1"), s.Template("nginx")
		s.Apply(p)
		s.Apply(nginx)
		s.Expect(nginx).In("member1")
		s.Apply(p.Eager().To("member2"))
		s.Expect(nginx).In("member2").Works("member2")
	})
}

func TestL40Simple4(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1"), s.Template("nginx")
		s.Apply(p)
		s.Apply(nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Apply(p.Lazy().To("member2")) })
		s.Expect(nginx).In("member1")
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestL41Combined1(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("pp1").Lazy().To("member1"), s.Policy("pp2").Lazy().To("member2"), s.Template("nginx")
		s.Apply(p1)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Unchanged(func() {
			s.Apply(p2)
			s.Settle()
			s.Expect(nginx).ClaimedBy(p1)
			s.Delete(p1)
			s.Expect(nginx).ClaimedBy(p2)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestL42Combined2(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p1, p2, nginx := s.Policy("cpp1").Lazy().To("member1"), s.Policy("cpp2").Lazy().To("member2"), s.Template("nginx")
		s.Apply(p1)
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p1)
		s.Unchanged(func() {
			s.Apply(p2)
			s.Apply(p1.SelectingNothing())
			s.Expect(nginx).ClaimedBy(p2)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestL45Combined5(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config, nginx := s.ConfigMap("config"), s.Deployment("nginx").Using("config")
		p := s.Policy("pp").Selecting(nginx).Lazy().WithDependencies().To("member1")
		s.Apply(p)
		s.Unchanged(func() { s.Apply(config) })
		s.Expect(config).Nowhere()
		s.Apply(nginx)
		s.Expect(nginx).In("member1")
		s.Expect(config).In("member1")
		s.Unchanged(func() { s.Apply(p.To("member2")) })
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
		s.Expect(config).In("member2")
	})
}

func TestL46Combined6(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config, nginx := s.ConfigMap("config"), s.Deployment("nginx").Using("config")
		p := s.Policy("pp").Selecting(nginx, config).Lazy().To("member1")
		s.Apply(nginx, config)
		s.Unchanged(func() { s.Apply(p) })
		s.Expect(nginx).Nowhere()
		s.Expect(config).Nowhere()

		s.Touch(nginx)
		s.Expect(nginx).In("member1")
		s.Settle()
		s.Expect(config).Nowhere()

		s.Unchanged(func() { s.Apply(p.To("member2").WithDependencies()) })
		s.Expect(nginx).In("member1")
		s.Expect(config).Nowhere()

		s.Touch(nginx)
		s.Expect(nginx).In("member2")
		s.Expect(config).In("member2").NeverIn("member1")
	})
}
