// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"
)

// A port of a Service that somebody changed in a member is put back, although the member
// does not take both beside each other: two need different names. What else he set stays.
func TestC76APortThatSomebodyChangedIsPutBack(t *testing.T) {
	t.Parallel()
	port := func(name string, number int64) map[string]any {
		p := map[string]any{"port": number, "protocol": "TCP", "targetPort": number}
		if name != "" {
			p["name"] = name
		}
		return p
	}
	for name, ports := range map[string]struct{ asked, changed []any }{
		"one without a name": {asked: []any{port("", 80)}, changed: []any{port("", 81)}},
		"one with a name":    {asked: []any{port("web", 80)}, changed: []any{port("web", 81)}},
		"one of two":         {asked: []any{port("web", 80), port("admin", 90)}, changed: []any{port("web", 80), port("admin", 91)}},
	} {
		t.Run(name, func(t *testing.T) {
			once(t, gatesOff, func(s *scenario) {
				by := map[string]template{"policy": s.Service("by-policy").set("spec.ports", ports.asked), "placement": s.Service("by-placement").set("spec.ports", ports.asked)}
				p := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, s.unique("room"))})
				room := newThing(namespaces, "", s.unique("room"))
				by["placement"] = by["placement"].set("metadata.namespace", room.name())
				s.Apply(room, by["policy"], by["placement"], p, s.NamespacedPolicy("pp").Selecting(by["policy"]).To(members...))
				s.Says(p, carried...)
				has := func(svc template, want []any) {
					s.Helper()
					s.Expect(svc).Member("member2", func(o map[string]any) error {
						return differs("its ports", asJSON(items(o, "spec.ports")), asJSON(want))
					})
				}
				for _, svc := range by {
					s.Expect(svc).In(members...)
					before := s.uids(svc, members...)
					s.PatchIn("member2", svc, `{"metadata":{"annotations":{"mine":"stays"}},"spec":{"ports":`+asJSON(ports.changed)+`}}`)
					has(svc, ports.asked)
					s.Expect(svc).Member("member2", func(o map[string]any) error { return differs("the annotation", annotation(o, "mine"), "stays") })
					s.same(svc, before, members...)
				}
				s.Says(p, carried...)
				s.Expect(by["policy"]).Work("member2", isCondition("Applied", "True"))
				next := append(slices.Clone(ports.asked[:len(ports.asked)-1]), port("last", 8080))
				s.Patch(by["policy"], `{"spec":{"ports":`+asJSON(next)+`}}`)
				has(by["policy"], next)
			})
		})
	}
}
