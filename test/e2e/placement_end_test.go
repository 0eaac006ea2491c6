// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// worksOf are the Works of a placement in all members.
func (s *scenario) worksOf(p thing) []unstructured.Unstructured {
	s.Helper()
	all, err := s.lab.hub.on(placedWorks, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
	if err != nil {
		s.Fatal(err)
	}
	return all.Items
}

// Nothing of a placement is left when it is gone: what it was made of on the hub goes,
// and what it brought to the members, unless it says that this stays. What was placed
// stays on the hub.
func TestC29C102ADeletedPlacement(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]map[string]any{
		"by default": nil, "delete": {"propagationPolicy": "Delete"}, "abandon": {"propagationPolicy": "Abandon"},
	} {
		t.Run(name, func(t *testing.T) {
			once(t, gatesOff, func(s *scenario) {
				cm, role := s.ConfigMap("pages").set("data.page", "one"), s.ClusterRole("reader")
				p := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, s.ns), selector(roles, role.name())})
				if strategy != nil {
					p = p.with("spec.strategy.deleteStrategy", strategy)
				}
				s.Apply(cm, role, p)
				s.Says(p, carried...)
				s.ownsAll(p)
				before := s.uids(cm, members...)
				s.Delete(p)
				s.Snapshots(placement{p}, snapshots)
				s.Snapshots(placement{p}, policySnapshots)
				s.Snapshots(placement{p}, pickBindings)
				if left := s.worksOf(p); len(left) > 0 {
					s.Errorf("%d Works are left", len(left))
				}
				s.Live(cm)
				s.Live(role)
				if name != "abandon" {
					s.Expect(cm).In()
					s.Expect(role).In()
					s.Expect(newThing(namespaces, "", s.ns)).In()
					return
				}
				pause(s.Context(), tick) // a canary would be selected, too
				s.same(cm, before, members...)
				s.Expect(role).In(members...)
				next := p.with("metadata.name", p.name()+"-2").with("spec.strategy.applyStrategy.whenToTakeOver", "IfNoDiff")
				s.Apply(next) // for it is nobody's
				s.Says(next, carried...)
				s.same(cm, before, members...)
			})
		})
	}
}

// What goes with the definition of its kind, which the placement took along, holds up
// nobody.
func TestC29C102APlacementOfADefinitionAndItsObjectsEnds(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub")
		widget := newThing(widgets, s.ns, "one")
		s.Apply(widget)
		s.knows(widgets)
		p := s.everywhere().with("spec.resourceSelectors", []any{selector(crds, crd.name()), selector(namespaces, s.ns)})
		s.Apply(p)
		s.Says(p, carried...)
		s.Expect(template{widget}).In(members...)
		s.Delete(p)
		s.Expect(template{widget}).In()
		s.Eventually(func() error {
			if s.has(p) {
				return fmt.Errorf("the placement is still there: %s", asJSON(s.Live(p).Object["status"]))
			}
			return nil
		})
	})
}

// Of a placement that somebody forced away while nothing ran, with its finalizers taken
// off, nothing is left on the hub either, no binding that keeps its kind from being
// removed. Nobody saw it being deleted: what it brought to the members stays.
func TestC102APlacementThatIsForcedAway(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm, p, before := s.pages()
		s.whileAway(func() {
			s.unfinalize("hub", p)
			s.forget("hub", p)
		})
		s.Snapshots(placement{p}, pickBindings)
		s.Snapshots(placement{p}, snapshots)
		s.Snapshots(placement{p}, policySnapshots)
		s.Eventually(func() error {
			if left := s.worksOf(p); len(left) > 0 {
				return fmt.Errorf("%d Works are left", len(left))
			}
			return nil
		})
		s.same(cm, before, members...)
	})
}

// ownsAll checks who sees to the end of a placement, and that all that is made of it is
// its own.
func (s *scenario) ownsAll(p thing) {
	s.Helper()
	live := s.Live(p)
	for _, f := range []string{"crp-cleanup", "scheduler-cleanup"} {
		if !slices.Contains(live.GetFinalizers(), fleet+f) {
			s.Errorf("finalizers are %q, and %s is not among them", live.GetFinalizers(), f)
		}
	}
	for _, r := range []resource{snapshots, policySnapshots, pickBindings} {
		made := s.madeOf(placement{p}, r)
		if len(made) == 0 {
			s.Errorf("no %s", r.plural)
		}
		for name, o := range made {
			if r == pickBindings {
				continue // whose end waits for the members
			}
			want := fmt.Sprintf("%s %s %s true true", p.kind, p.name(), live.GetUID())
			for _, owner := range o.GetOwnerReferences() {
				if got := fmt.Sprintf("%s %s %s %t %t", owner.Kind, owner.Name, owner.UID, yes(owner.Controller), yes(owner.BlockOwnerDeletion)); got != want {
					s.Errorf("%s is owned by %s, want %s", name, got, want)
				}
			}
			if n := len(o.GetOwnerReferences()); n != 1 {
				s.Errorf("%s has %d owners", name, n)
			}
		}
	}
}

func yes(b *bool) bool { return b != nil && *b }
