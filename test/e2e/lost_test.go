// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"testing"
)

// DeleteBinding deletes the template's binding by hand, and waits until there is
// another.
func (s *scenario) DeleteBinding(t template) {
	s.Helper()
	r := bindings
	if t.clusterScoped {
		r = clusterBindings
	}
	was := s.Expect(t).binding()
	s.Delete(asThing(r, was))
	s.Expect(t).Binding(func(b map[string]any) error {
		switch {
		case text(b, "metadata.uid") == string(was.GetUID()):
			return errors.New("it is the same")
		case len(items(b, "spec.clusters")) == 0:
			return errors.New("it names no cluster yet")
		}
		return nil
	})
}

// A change that waits is not let go by somebody who deletes the binding, which says what
// is in force. The condition goes on telling, and the template's change lets it act.
func TestZ4L5WhatWaitsIsNotLetGoWithItsBinding(t *testing.T) {
	for sentence, tc := range map[string]struct {
		gates         gating
		before, after func(policy) policy
	}{
		"a Lazy policy":              {gatesOff, policy.Lazy, policy.Lazy},
		"a policy that becomes Lazy": {gatesOff, func(p policy) policy { return p }, policy.Lazy},
		"ST5 StaticPolicy":           {static, func(p policy) policy { return p }, func(p policy) policy { return p }},
	} {
		t.Run(sentence, func(t *testing.T) {
			each(t, tc.gates, everyForm, func(s *scenario) {
				p, nginx := s.Policy("pp"), s.Template("nginx")
				s.Apply(tc.before(p), nginx)
				s.Expect(nginx).In("member1")
				s.Apply(tc.after(p).To("member2"))
				s.Rest()
				before := s.uids(nginx, "member1")
				s.Untouched(func() { s.DeleteBinding(nginx) })
				s.Expect(nginx).In("member1").Binding(isCondition("Active", "False"))
				s.Untouched(func() { s.DeleteBinding(nginx) })
				s.Expect(nginx).In("member1").NeverIn("member2")
				s.same(nginx, before, "member1")
				s.Apply(nginx.At(2))
				s.Expect(nginx).In("member2").At(2, "member2")
			})
		})
	}
}

// The replicas stay as they are divided, although the form of the policy that divided
// them was never noted.
func TestZ4ReplicasStayDividedWithoutABinding(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Deployment("nginx").Replicas(3)
		s.Apply(p.To("member1", "member2").weighted(2, 1), nginx)
		divided := func() {
			s.Helper()
			s.Expect(nginx).In("member1", "member2").Member("member1", hasReplicas(2)).Member("member2", hasReplicas(1))
		}
		divided()
		s.Apply(p.Lazy().To("member3"))
		s.Rest()
		s.Untouched(func() { s.DeleteBinding(nginx) })
		divided()
		s.Expect(nginx).NeverIn("member3").Binding(func(b map[string]any) error {
			return differs("the number of clusters", len(items(b, "spec.clusters")), 2)
		})
	})
}
