// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is Sluice's own on the hub is put right when somebody meddles with it.

// asThing names a live object.
func asThing(r resource, o *unstructured.Unstructured) thing {
	return newThing(r, o.GetNamespace(), o.GetName())
}

func TestRepairWorkDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...)
		s.Delete(asThing(works, s.Expect(nginx).work("member2")))
		s.Expect(nginx).Works(members...).In(members...)
		s.Settle()
		s.Expect(nginx).Works(members...).In(members...).Work("member2", isCondition("Applied", "True"))
	})
}

func TestRepairWorkEdited(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...)
		w := asThing(works, s.Expect(nginx).work("member2"))
		s.Patch(w, fmt.Sprintf("{\"spec\":{\"workload\":{\"manifests\":[%s]}}}", asJSON(nginx.At(9).body)))
		s.Settle()
		s.Expect(nginx).Work("member2", hasContent(nginx.resource, 1)).At(1, members...)
	})
}

func TestRepairBindingDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Binding(func(map[string]any) error { return nil })
		s.Delete(s.bindingOf(nginx))
		s.Expect(nginx).Binding(func(map[string]any) error { return nil })
		s.Settle()
		s.Expect(nginx).In(members...).Works(members...)
	})
}

func TestRepairRevisionDeleted(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		_, nginx := s.spread()
		var mine []*unstructured.Unstructured
		s.Eventually(func() error {
			mine = slices.DeleteFunc(s.lab.hub.mirror(revisions).of(s.ns), func(r *unstructured.Unstructured) bool { return !strings.HasPrefix(r.GetName(), "nginx") })
			if len(mine) == 0 {
				return fmt.Errorf("no revision")
			}
			return nil
		})
		for _, r := range mine {
			s.Delete(asThing(revisions, r))
		}
		s.Apply(s.override("over", nginx, "by", "override", "member1"))
		s.Expect(nginx).Labelled("member1", "by", "override").At(1, members...)
	})
}

// From one scope to the other, both ways.
func TestL33SuccessorOfOtherScope(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Template("nginx")
		mine, wide := s.NamespacedPolicy("mine"), s.ClusterPolicy("wide").To("member2")
		s.Apply(wide, mine)
		s.Settle()
		s.Apply(nginx)
		s.Expect(nginx).In("member1").ClaimedBy(mine)
		s.Delete(mine)
		s.Expect(nginx).In("member2").ClaimedBy(wide)
		s.Unchanged(func() { s.Apply(mine.To("member3")) })
		s.Delete(wide)
		s.Expect(nginx).In("member3").ClaimedBy(mine)
	})
}

func TestL34SuccessorOfOtherScope(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Template("nginx")
		mine, wide := s.NamespacedPolicy("mine"), s.ClusterPolicy("wide").To("member2").Lazy()
		s.Apply(mine, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(mine)
		s.Unchanged(func() {
			s.Apply(wide)
			s.Delete(mine)
			s.Expect(nginx).ClaimedBy(wide)
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

// A suspension whose policy is gone is lifted by hand.
func TestS25ResumeByHand(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(nginx.At(2))
		s.Expect(nginx).Work("member1", hasContent(nginx.resource, 2))
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		if out, err := s.Sluice("resume", "deployment/nginx"); err != nil {
			s.Fatalf("resume: %v\n%s", err, out)
		}
		s.Expect(nginx).At(2, members...).Work("member1", isNotSuspended)
	})
}

// What no policy places any more, and of which somebody deleted the binding, holds up
// nobody: its Work is let go with the namespace, and its object stays.
func TestZ10WhatNobodyPlacesHoldsUpNobody(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		left, nginx := s.Template("left"), s.Template("nginx")
		s.Cleanup(func() { s.forget("member1", left.thing) }) // it is nobody's in the end
		former := s.Policy("former").Selecting(left).toAll()
		s.Apply(former, s.Policy("pp").Selecting(nginx).toAll(), left, nginx)
		for _, t := range []template{left, nginx} {
			s.Expect(t).Works(members...).Work("member1", isCondition("Applied", "True"))
		}
		s.Rest()
		before, of := s.uids(nginx, members...), s.uids(left, members...)
		was := string(s.Expect(nginx).work("member1").GetUID())
		s.Delete(former)
		s.Settle()
		r := bindings
		if left.clusterScoped {
			r = clusterBindings
		}
		s.forget("hub", asThing(r, s.Expect(left).binding()))
		s.party.together(func() { s.forget("hub", newThing(namespaces, "", "karmada-es-member1")) })
		if err := s.within(2*timeout, func() error {
			if w := s.Expect(nginx).work("member1"); w == nil || string(w.GetUID()) == was {
				return fmt.Errorf("the Work of %s is not made anew", nginx)
			}
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		s.Settle()
		s.same(left, of, members...)
		s.goesOn(nginx, 2, before, members...)
	})
}

// A Work that waits for the end of a suspension to take its object away does not keep
// the namespace of the member's Works, in which nothing new could be made: its object
// stays, and is nobody's.
func TestZ10WhatIsSuspendedHoldsUpNobody(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		left, nginx := s.Template("left"), s.Template("nginx")
		s.Cleanup(func() { s.forget("member1", left.thing) }) // it is nobody's in the end
		p := s.Policy("moves").Selecting(left).To("member1")
		s.Apply(p, s.Policy("pp").Selecting(nginx).toAll(), left, nginx)
		s.Expect(nginx).Works(members...).Work("member1", isCondition("Applied", "True"))
		s.Expect(left).Works("member1").Work("member1", isCondition("Applied", "True"))
		of, before := s.uids(left, "member1"), s.uids(nginx, members...)
		s.Apply(p.To("member2").SuspendedOn("member1"))
		s.Expect(left).In("member1", "member2").Work("member2", isCondition("Applied", "True"))
		s.Rest()
		was := string(s.Expect(nginx).work("member1").GetUID())
		s.party.together(func() { s.forget("hub", newThing(namespaces, "", "karmada-es-member1")) })
		if err := s.within(2*timeout, func() error {
			if w := s.Expect(nginx).work("member1"); w == nil || string(w.GetUID()) == was {
				return fmt.Errorf("the Work of %s is not made anew", nginx)
			}
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		s.Expect(left).Works("member2")
		s.same(left, of, "member1")
		s.goesOn(nginx, 2, before, members...)
	})
}

// An object that hangs in its deletion in the member does not keep the namespace of the
// member's Works either, and is released when what keeps it lets go.
func TestZ10WhatHangsInAMemberHoldsUpNobody(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		left, nginx := s.Template("left"), s.Template("nginx")
		s.Apply(s.Policy("pp").Selecting(left, nginx).toAll(), left, nginx)
		for _, t := range []template{left, nginx} {
			s.Expect(t).Works(members...).Work("member1", isCondition("Applied", "True"))
		}
		s.PatchIn("member1", left, `{"metadata":{"finalizers":["example.org/stays"]}}`)
		s.Cleanup(func() { s.unfinalize("member1", left) })
		s.Rest()
		before, was := s.uids(nginx, members...), string(s.Expect(nginx).work("member1").GetUID())
		s.Delete(left)
		s.Expect(left).In("member1")
		s.party.together(func() { s.forget("hub", newThing(namespaces, "", "karmada-es-member1")) })
		s.workAnew(nginx, "member1", was)
		s.goesOn(nginx, 2, before, members...)
		s.unfinalize("member1", left)
		s.Expect(left).Nowhere()
	})
}

// Nor does the Work of a template of which the hub does not tell any more: its object
// stays, and belongs to the template again once the hub does.
func TestZ10WhatTheHubDoesNotTellOfHoldsUpNobody(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		one, nginx := template{newThing(widgets, s.ns, "one")}.At(1), s.Template("nginx")
		s.Apply(s.Policy("pp").Selecting(one, nginx).toAll(), one, nginx)
		for _, t := range []template{one, nginx} {
			s.Expect(t).Works(members...).Work("member1", isCondition("Applied", "True"))
		}
		s.Rest()
		of, before, was := s.uids(one, members...), s.uids(nginx, members...), string(s.Expect(nginx).work("member1").GetUID())
		s.forget("hub", crd)
		s.party.together(func() { s.forget("hub", newThing(namespaces, "", "karmada-es-member1")) })
		s.workAnew(nginx, "member1", was)
		s.goesOn(nginx, 2, before, members...)
		s.define(crd, "hub")
		s.Apply(one.At(2))
		s.Expect(one).At(2, members...)
		s.same(one, of, members...)
	})
}
