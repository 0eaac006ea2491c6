// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// gold is an override of placements that has every member get the ConfigMap with a label.
func (s *scenario) gold(kind resource, cm template, p thing) thing {
	spec := map[string]any{
		"placement": map[string]any{"name": p.name()},
		"policy": map[string]any{"overrideRules": []any{map[string]any{
			"clusterSelector":    map[string]any{"clusterSelectorTerms": []any{}},
			"jsonPatchOverrides": []any{map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"tier": "gold"}}},
		}}},
	}
	if kind.clusterScoped {
		spec["clusterResourceSelectors"] = []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": cm.namespace()}}
		return newThing(kind, "", s.unique("gold")).with("spec", spec)
	}
	spec["resourceSelectors"] = []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "name": cm.name()}}
	return newThing(kind, cm.namespace(), "gold").with("spec", spec)
}

// tiers waits until the ConfigMap has that tier in all members.
func (s *scenario) tiers(cm template, want string) {
	s.Helper()
	for _, m := range members {
		s.Eventually(func() error {
			if o := s.Expect(cm).inMember(m); o == nil || o.GetLabels()["tier"] != want {
				return fmt.Errorf("%s has %s as %s, want tier %q", m, cm, asJSON(o), want)
			}
			return nil
		})
	}
}

// steady does something that must not write to the object in the members.
func (s *scenario) steady(cm template, do func()) {
	s.Helper()
	versions := func() (all []string) {
		for _, m := range members {
			all = append(all, s.LiveIn(m, cm).GetResourceVersion())
		}
		return all
	}
	s.Rest()
	before := versions()
	do()
	s.Settle()
	if after := versions(); !slices.Equal(before, after) {
		s.Errorf("%s was written: its versions are %q, and were %q", cm, after, before)
	}
}

// saysWhy waits until each binding of the placement, and explain, say that nobody deleted its
// overrides.
func (s *scenario) saysWhy(p, override thing) {
	s.Helper()
	went := override.resource.kind + " " + strings.TrimPrefix(override.namespace()+"/"+override.name(), "/")
	s.Eventually(func() error {
		for name, b := range s.madeOf(placement{p}, pickBindings) {
			if err := isCondition("WorkSynchronized", "False", "overrides ("+went+") went with the definition of their kind, and nobody deleted them")(b.Object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	s.explainsPlacement(p, went)
}

// What an override of placements gave to members stays when the definition of its kind goes,
// and says why: nobody took it back. It is in force again when it is applied again, and no
// more when somebody deletes it.
func TestZ11OverridesOfPlacementsStayInForceWithoutTheirDefinition(t *testing.T) {
	for _, kind := range []resource{overridesWithout, overridesWithin} {
		t.Run(kind.kind, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				cm, p := s.aside()
				over, crd := s.gold(kind, cm, p), s.crd(kind)
				s.Apply(over, p)
				s.Says(p, carriedOverridden...)
				s.tiers(cm, "gold")
				s.steady(cm, func() { s.undefine(kind) })
				s.saysWhy(p, over)
				s.steady(cm, func() { s.install(crd) })
				s.saysWhy(p, over)
				s.steady(cm, func() {
					s.Eventually(func() error { return s.apply(s.lab.hub, over) })
					s.Says(p, carriedOverridden...)
				})
				s.Apply(cm.set("data.page", "two"))
				s.holds(cm, "page", "two", members...)
				s.tiers(cm, "gold")
				s.Delete(over)
				s.tiers(cm, "")
				s.Says(p, carried...)
			})
		})
	}
}

// What an override gave to members stays when the definition of what Sluice makes of overrides
// goes, and comes back.
func TestZ11SnapshotsOfOverridesDefinedAnew(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm, p := s.aside()
		over := s.gold(overridesWithin, cm, p)
		s.Apply(over, p)
		s.Says(p, carriedOverridden...)
		s.tiers(cm, "gold")
		crd := s.crd(overrideSnapshots)
		s.steady(cm, func() {
			s.undefine(overrideSnapshots)
			s.Apply(cm.set("data.page", "two")) // nobody can tell what becomes of it
			s.explainsPlacement(p, "the hub does not serve ResourceOverrideSnapshots")
		})
		s.install(crd)
		s.holds(cm, "page", "two", members...)
		s.tiers(cm, "gold")
		s.Says(p, carriedOverridden...)
		s.Delete(over)
		s.tiers(cm, "")
	})
}
