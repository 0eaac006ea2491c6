// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
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

		s.must("approve", "member1")
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
		s.Eventually(func() error {
			if s.Live(p) != nil {
				return errors.New("the placement is still there")
			}
			return nil
		})
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
		s.Apply(s.ClusterPolicy("kinds").Selecting(definition).To("member1"), definition)
		s.Eventually(func() error { return isCondition("Established", "True")(s.LiveIn("member1", crd).Object) })
		mine := newThing(widgets, s.ns, "mine")
		s.ApplyIn("member1", newThing(namespaces, "", s.ns), mine)
		uid := s.LiveIn("member1", mine).GetUID()
		s.Apply(s.ClusterPolicy("kinds").Selecting(definition).To("member2"))
		s.Expect(definition).Work("member1", isCondition("Applied", "False", "Gadget "+s.ns+"/mine"))
		if o := s.LiveIn("member1", mine); o.GetUID() != uid {
			s.Error("it was made anew")
		}
		s.must("approve", "member1")
		s.Eventually(func() error {
			if o := s.Expect(definition).inMember("member1"); o != nil && o.GetDeletionTimestamp() == nil {
				return fmt.Errorf("%s is still in member1", crd)
			}
			return nil
		})
	})
}
