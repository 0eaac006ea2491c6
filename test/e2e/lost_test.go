// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// bindingOf is the template's binding.
func (s *scenario) bindingOf(t template) thing {
	s.Helper()
	r := bindings
	if t.clusterScoped {
		r = clusterBindings
	}
	return asThing(r, s.Expect(t).binding())
}

// DeleteBinding deletes the template's binding by hand, and waits until there is
// another.
func (s *scenario) DeleteBinding(t template) {
	s.Helper()
	was := s.bindingOf(t)
	s.Delete(was)
	s.Expect(t).Binding(func(b map[string]any) error {
		switch {
		case text(b, "metadata.uid") == text(was.body, "metadata.uid"):
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
	t.Parallel()
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

// Nor by somebody who edits what the binding says is in force: that is put right.
func TestZ4L5WhatWaitsIsNotLetGoByAnEditOfItsBinding(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Apply(p.To("member2"))
		s.Rest()
		b := s.bindingOf(nginx)
		for _, patch := range []string{
			`{"metadata":{"annotations":{"sluice.dev/active-policy":null,"sluice.dev/active-policy-id":null}}}`,
			`{"metadata":{"annotations":{"sluice.dev/content-hash":null,"sluice.dev/revision":null,"sluice.dev/written":null}}}`,
			`{"metadata":{"annotations":{"sluice.dev/content-hash":"0000000000000000"}}}`,
			`{"metadata":{"labels":null,"annotations":null}}`,
			`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member3"]}}}}`,
		} {
			s.Untouched(func() {
				s.Patch(b, patch)
				s.Expect(nginx).Binding(func(b map[string]any) error {
					if annotation(b, "sluice.dev/active-policy-id") == "" || strings.Trim(annotation(b, "sluice.dev/content-hash"), "0") == "" {
						return errors.New("the binding does not say what is in force")
					}
					return differs("where it is", fmt.Sprint(at(b, "spec.placement.clusterAffinity.clusterNames")), "[member1]")
				})
			})
			if s.Failed() {
				s.Fatalf("the binding was edited: %s", patch)
			}
		}
		s.Expect(nginx).In("member1").NeverIn("member2").NeverIn("member3").Binding(isCondition("Active", "False"))
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2, "member2")
	})
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
