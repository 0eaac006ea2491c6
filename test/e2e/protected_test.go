// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const protection = "resourcetemplate.karmada.io/deletion-protected"

// protected is a patch of the label that protects from deletion.
func protected(value any) string {
	return asJSON(map[string]any{"metadata": map[string]any{"labels": map[string]any{protection: value}}})
}

// deletable tells what the hub answers who would delete the thing.
func (s *scenario) deletable(o thing) error {
	return s.lab.hub.on(o.resource, o.namespace()).Delete(s.Context(), o.name(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// refusesDeletion waits until the hub does: it hears of admission policies late.
func (s *scenario) refusesDeletion(o thing) {
	s.Helper()
	s.Eventually(func() error {
		err := s.deletable(o)
		if err == nil {
			return fmt.Errorf("%s may be deleted, want that it is protected from deletion", o)
		}
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "protected from deletion") {
			return fmt.Errorf("the deletion of %s: %w, want that it is protected from deletion", o, err)
		}
		return nil
	})
}

func TestZ13DeletionRefused(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		for _, o := range []thing{p.itself(), nginx.itself()} {
			s.Patch(o, protected("Always"))
			s.refusesDeletion(o)
			s.Patch(o, protected(nil))
			if err := s.deletable(o); err != nil {
				s.Errorf("the deletion of %s, which is not protected any more: %v", o, err)
			}
		}
		s.Expect(nginx).In(members...).At(1, members...)
	})
}

func TestZ13DeletionOfNamespaceAndClusterRefused(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		for _, o := range []thing{newThing(namespaces, "", s.ns), newThing(clusters, "", "member3")} {
			s.Patch(o, protected("Always"))
			s.refusesDeletion(o)
			s.Patch(o, protected("Never"))
			if err := s.deletable(o); err != nil {
				s.Errorf("the deletion of %s, whose label says something else: %v", o, err)
			}
			s.Patch(o, protected(nil))
		}
	})
}

// Whoever may change admission policies may delete what is protected. What runs
// stays.
func TestZ13DeletionPastTheGuard(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		binding := newThing(vapBindings, "", "sluice-deletion-protection")
		mine, another := s.Deployment("nginx"), s.Deployment("web")
		s.Apply(s.Policy("pp").Selecting(mine, another).toAll(), mine, another)
		s.Expect(mine).In(members...)
		s.Expect(another).In(members...)
		s.Patch(mine, protected("Always"))
		s.refusesDeletion(mine.itself())
		s.Expect(mine).Binding(func(b map[string]any) error {
			if annotation(b, "sluice.dev/deletion-protected") != "true" {
				return fmt.Errorf("it does not record the protection")
			}
			return nil
		})
		s.Expect(mine).Work("member1", preserves).Work("member2", preserves).Work("member3", preserves)
		s.Patch(binding, `{"spec":{"validationActions":["Audit"]}}`)
		defer s.Patch(binding, `{"spec":{"validationActions":["Deny"]}}`)
		s.Eventually(func() error { return s.deletable(mine.itself()) })
		s.Delete(mine)
		s.Delete(another)
		s.Expect(another).Nowhere()
		s.Expect(mine).Works()
		s.Settle()
		s.Expect(mine).In(members...).At(1, members...)
	})
}

// A template that goes with a protected namespace stays in the members; one that
// is deleted by itself there does not.
func TestZ13NamespaceDeletedPastTheGuard(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		binding := newThing(vapBindings, "", "sluice-deletion-protection")
		mine, another := s.Deployment("nginx"), s.Deployment("web")
		s.Apply(s.Policy("pp").Selecting(mine, another).toAll(), mine, another)
		s.Expect(mine).In(members...)
		s.Expect(another).In(members...)
		ns := newThing(namespaces, "", s.ns)
		s.Patch(ns, protected("Always"))
		for _, m := range members {
			s.Expect(mine).Work(m, shielded)
			s.Expect(another).Work(m, shielded)
		}
		s.Delete(another)
		s.Expect(another).Nowhere()
		s.Patch(binding, `{"spec":{"validationActions":["Audit"]}}`)
		defer s.Patch(binding, `{"spec":{"validationActions":["Deny"]}}`)
		s.Eventually(func() error { return s.deletable(ns) })
		s.Delete(ns)
		s.Expect(mine).Works()
		pause(s.Context(), sweep)
		s.Expect(mine).In(members...).At(1, members...)
	})
}

// Nor does a member lose anything where what is deleted in spite of its protection is
// the policy, or the member's Cluster.
func TestZ13PolicyOrClusterDeletedPastTheGuard(t *testing.T) {
	for sentence, tc := range map[string]struct {
		what func(policy) thing
		// again makes it once more.
		again func(*scenario, policy)
	}{
		"a policy": {policy.itself, func(s *scenario, p policy) { s.Apply(p) }},
		"a Cluster": {func(policy) thing { return newThing(clusters, "", "member3") }, func(s *scenario, _ policy) {
			s.joins("member3")
			s.Eventually(func() error { return s.lab.joined(s.Context()) })
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				binding := newThing(vapBindings, "", "sluice-deletion-protection")
				p, nginx := s.spread()
				before, o := s.uids(nginx, members...), tc.what(p)
				s.Patch(o, protected("Always"))
				s.refusesDeletion(o)
				s.Patch(binding, `{"spec":{"validationActions":["Audit"]}}`)
				defer s.Patch(binding, `{"spec":{"validationActions":["Deny"]}}`)
				s.Eventually(func() error { return s.deletable(o) })
				s.Delete(o)
				s.Settle()
				s.Expect(nginx).At(1, members...)
				s.same(nginx, before, members...)
				tc.again(s, p)
				s.goesOn(nginx, 2, before, members...)
			})
		})
	}
}

func annotation(obj map[string]any, key string) string {
	all, _ := at(obj, "metadata.annotations").(map[string]any)
	value, _ := all[key].(string)
	return value
}

func preserves(w map[string]any) error {
	if keep, _ := at(w, "spec.preserveResourcesOnDeletion").(bool); !keep {
		return fmt.Errorf("it does not preserve what it made")
	}
	return nil
}

func shielded(w map[string]any) error {
	if annotation(w, "sluice.dev/namespace-deletion-protected") != "true" {
		return fmt.Errorf("it does not record that its namespace is protected")
	}
	return nil
}
