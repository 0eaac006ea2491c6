// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"strings"
	"testing"
)

// What a template refers to follows it where its policy says so, beside the
// diagrams L45 and L46, and Y5.

// follows is a form whose policy takes dependencies along.
func (s *scenario) follows(name string, t template, to ...string) policy {
	return s.Policy(name).Selecting(t).WithDependencies().To(to...)
}

func TestDependencyIsShared(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config := s.ConfigMap("config")
		one, two := s.Deployment("one").Using("config"), s.Deployment("two").Using("config")
		s.Apply(config, s.follows("one", one, "member1"), s.follows("two", two, "member2"), one, two)
		s.Expect(one).In("member1")
		s.Expect(two).In("member2")
		s.Expect(config).In("member1", "member2")
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member1", "member2")
		s.Delete(one)
		s.Expect(config).In("member2")
		s.Delete(two)
		s.Expect(config).Nowhere()
	})
}

// It comes when it is made after who refers to it.
func TestDependencyComesLater(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(s.follows("pp", nginx, "member1"), nginx)
		s.Expect(nginx).In("member1")
		s.Apply(config)
		s.Expect(config).In("member1")
	})
}

// It goes when nobody refers to it any more.
func TestDependencyIsDropped(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		p := s.follows("pp", nginx, "member1")
		s.Apply(config, p, nginx)
		s.Expect(config).In("member1")
		s.Apply(nginx.set("spec.template.spec.volumes", []any{}))
		s.Expect(config).Nowhere()
		s.Apply(nginx)
		s.Expect(config).In("member1")
		s.Apply(p.set("spec.propagateDeps", false))
		s.Expect(config).Nowhere()
		s.Expect(nginx).In("member1")
	})
}

// A policy of its own places it beside those who refer to it.
func TestDependencyWithOwnPolicy(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		own := s.Policy("own").Selecting(config).To("member3")
		s.Apply(own, config, s.follows("pp", nginx, "member1"), nginx)
		s.Expect(config).In("member1", "member3").ClaimedBy(own)
		s.Delete(nginx)
		s.Expect(config).In("member3")
	})
}

// Secrets and ServiceAccounts follow, too.
func TestDependencyKinds(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		secret, account := s.Secret("secret"), s.ServiceAccount("robot")
		nginx := s.Deployment("nginx").set("spec.template.spec.serviceAccountName", "robot").set("spec.template.spec.volumes", []any{
			map[string]any{"name": "secret", "secret": map[string]any{"secretName": "secret"}},
		})
		s.Apply(secret, account, s.follows("pp", nginx, "member2"), nginx)
		s.Expect(nginx).In("member2")
		s.Expect(secret).In("member2")
		s.Expect(account).In("member2")
	})
}

// A dependency has no policy, and so no claim; its binding says whom it follows.
func TestDependencyIsNobodys(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, "member1"), nginx)
		s.Expect(config).In("member1").Unclaimed().Binding(func(b map[string]any) error {
			if len(items(b, "spec.requiredBy")) != 1 {
				return errors.New("spec.requiredBy is " + asJSON(at(b, "spec.requiredBy")))
			}
			return nil
		})
	})
}

// Somebody edits the binding of what others refer to: off one member, off all of them, and
// placed elsewhere besides. Who refers to it takes it along anew, and no member is touched.
func TestZ4TheBindingOfADependencyIsEdited(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, members...), nginx)
		s.Expect(config).In(members...)
		before := s.uids(config, members...)
		bound := newThing(bindings, s.ns, "config-configmap")
		for i, edit := range []string{
			`{"spec":{"requiredBy":[{"namespace":"` + s.ns + `","name":"nginx-deployment","clusters":[{"name":"member2"}]}]}}`,
			`{"spec":{"requiredBy":null}}`,
			`{"spec":{"requiredBy":null,"placement":{"clusterAffinity":{"clusterNames":["member2"]}}}}`,
		} {
			s.Untouched(func() { s.Patch(bound, edit) })
			s.Eventually(func() error {
				if by := asJSON(at(s.Live(bound).Object, "spec.requiredBy")); !strings.Contains(by, "member1") || !strings.Contains(by, "member3") {
					return errors.New("spec.requiredBy is " + by)
				}
				return nil
			})
			s.goesOn(config, int64(i+2), before, members...)
		}
		s.Rest()
		s.Delete(nginx)
		s.Expect(config).Nowhere()
	})
}

// Nothing about dependencies is lost with the pipeline.
func TestDependencyRestart(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, "member1", "member2").Lazy(), nginx)
		s.Expect(config).In("member1", "member2")
		s.Apply(s.follows("pp", nginx, "member3").Lazy())
		s.Unchanged(func() { s.Flush(); s.Restart() })
		s.whileRestarting(func() { s.Touch(nginx) })
		s.Expect(nginx).In("member3")
		s.Expect(config).In("member3")
	})
}

// What a policy of its own places is no dependency there any more, and its Work says so
// once.
func TestDependencyBecomesAPolicysOwn(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		required := func(want string) func(w map[string]any) error {
			return func(w map[string]any) error {
				return differs("sluice.dev/dependency", annotation(w, "sluice.dev/dependency"), want)
			}
		}
		s.Apply(config, s.follows("pp", nginx, "member1"), nginx)
		s.Expect(config).In("member1").Work("member1", required("true"))
		own := s.Policy("own").Selecting(config).To("member1")
		s.Apply(own)
		s.Expect(config).ClaimedBy(own).Work("member1", required(""))
		s.Unchanged(func() {})
	})
}
