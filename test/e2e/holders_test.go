// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A namespace that its policy takes out of a member stays there with what another policy
// has in it, until somebody approves that.
func TestZ12NamespaceThatHoldsOthers(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		room := template{newThing(namespaces, "", s.unique("room")).mark("labels", scenarioLabel, s.ns)}
		pages := template{newThing(configMaps, room.name(), "pages")}.At(1)
		homes := s.ClusterPolicy("homes").Selecting(room)
		contents := s.ClusterPolicy("contents").set("spec.resourceSelectors", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": room.name(), "name": pages.name()}})
		s.Apply(homes.To("member1", "member2"), contents.To("member1", "member2"), room, pages)
		s.Expect(room).In("member1", "member2")
		s.Expect(pages).In("member1", "member2")
		before, home := s.uids(pages, "member1"), s.LiveIn("member1", room).GetUID()

		s.Apply(homes.To("member2"))
		s.Expect(room).Work("member1", isCondition("Applied", "False", "ConfigMap "+room.name()+"/pages"))
		s.Eventually(func() error {
			if out := s.removals(); !strings.Contains(out, "namespace/"+room.name()) || !strings.Contains(out, "ConfigMap "+room.name()+"/pages") {
				return fmt.Errorf("it lists\n%s", out)
			}
			return nil
		})
		s.same(pages, before, "member1")

		s.must("approve", "member1", "namespace/"+room.name())
		s.Eventually(func() error {
			if o := s.Expect(room).inMember("member1"); o != nil && o.GetUID() == home && o.GetDeletionTimestamp() == nil {
				return errors.New("the namespace is still in member1")
			}
			return nil
		})
	})
}

// A placement that is deleted ends, and leaves a namespace that holds what somebody else
// put there; with what it gave itself, and without the rest, it goes.
func TestC102APlacementEndsBesideWhatOthersPutIntoItsNamespace(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		room := newThing(namespaces, "", s.unique("room"))
		pages, notes := template{newThing(configMaps, room.name(), "pages")}.At(1), newThing(configMaps, room.name(), "notes")
		p := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, room.name())})
		s.Apply(room, pages, p)
		s.Says(p, carried...)
		s.ApplyIn("member1", notes)
		uid := s.LiveIn("member1", notes).GetUID()
		s.Delete(p)
		s.Expect(pages).Nowhere()
		s.Eventually(func() error {
			if o := s.Expect(room).inMember("member2"); o != nil && o.GetDeletionTimestamp() == nil {
				return errors.New("the namespace is still in member2, where nothing is in it")
			}
			return nil
		})
		if o := s.LiveIn("member1", notes); o.GetUID() != uid || o.GetDeletionTimestamp() != nil {
			s.Errorf("%s in member1 went with its namespace", notes)
		}
		if err := s.lab.clusters["member1"].on(namespaces, "").Delete(s.Context(), room.name(), metav1.DeleteOptions{}); err != nil {
			s.Error(err)
		}
	})
}

// A definition that its policy takes out of a member stays there with an object that
// somebody has made of it.
func TestZ12DefinitionThatHoldsOthers(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Gadget")
		definition := template{crd.mark("labels", scenarioLabel, s.ns)}
		s.Apply(s.ClusterPolicy("kinds").Selecting(definition).To("member3"), definition)
		s.Expect(definition).Member("member3", isCondition("Established", "True"))
		mine := newThing(widgets, s.ns, "mine")
		s.ApplyIn("member3", newThing(namespaces, "", s.ns), mine)
		uid := s.LiveIn("member3", mine).GetUID()
		s.Apply(s.ClusterPolicy("kinds").Selecting(definition).To("member2"))
		s.Expect(definition).Work("member3", isCondition("Applied", "False", "Gadget "+s.ns+"/mine"))
		if o := s.LiveIn("member3", mine); o.GetUID() != uid {
			s.Error("it was made anew")
		}
		s.must("approve", "member3", "crd/"+crd.name())
		s.Eventually(func() error {
			if o := s.Expect(definition).inMember("member3"); o != nil && o.GetDeletionTimestamp() == nil {
				return fmt.Errorf("%s is still in member1", crd)
			}
			return nil
		})
	})
}

// What a placement and a policy both want is the policy's when the placement ends, and
// what a placement and another both want is the other's: as it is, and no member is
// without it.
func TestC75Y9WhatAnotherWantsIsPassedOn(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		room := newThing(namespaces, "", s.unique("room"))
		pages := template{newThing(configMaps, room.name(), "pages")}.At(1)
		one := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, room.name())})
		two := one.with("metadata.name", one.name()+"-2")
		s.Apply(room, pages, one)
		s.Says(one, carried...)
		before := s.uids(pages, members...)
		s.Apply(two)
		s.Says(two, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		s.Delete(one)
		s.Says(two, carried...)
		s.same(pages, before, members...)

		policy := s.ClusterPolicy("contents").To(members...).set("spec.resourceSelectors", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": room.name(), "name": pages.name()}})
		s.Apply(policy)
		says := func(check func(w map[string]any) error) {
			s.Helper()
			s.Eventually(func() error {
				list, err := s.lab.hub.on(works, "karmada-es-member1").List(s.Context(), metav1.ListOptions{})
				if err != nil {
					return err
				}
				for _, w := range list.Items {
					if template := w.GetAnnotations()["sluice.dev/template"]; strings.Contains(template, "ConfigMap") && strings.Contains(template, room.name()) {
						return check(w.Object)
					}
				}
				return errors.New("the policy has no Work in member1")
			})
		}
		says(isCondition("Applied", "False", "belongs to the Work"))
		s.Delete(two)
		says(isCondition("Applied", "True"))
		s.same(pages, before, members...)
		s.Expect(pages).In(members...)
	})
}

// Of several placements that all want the same objects, each may be the one that gets them
// from another, and that is being deleted itself by then: once all are gone, so are the
// objects.
func TestC75C29SeveralPlacementsOfOneObjectEndAtOnce(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		room := newThing(namespaces, "", s.unique("room"))
		pages := template{newThing(configMaps, room.name(), "pages")}.At(1)
		first := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, room.name())})
		all := []thing{first}
		s.Apply(room, pages, first)
		s.Says(first, carried...)
		for n := range 5 {
			all = append(all, first.with("metadata.name", fmt.Sprintf("%s-%d", first.name(), n+2)))
			s.Apply(all[n+1])
		}
		for _, p := range all[1:] {
			s.Says(p, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		}
		for _, p := range all {
			s.forget("hub", p)
		}
		for _, p := range all {
			s.ends(p)
		}
		s.Expect(pages).Nowhere()
		s.Expect(template{room}).In()
	})
}
