// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// An OverridePolicy concerns what is in its own namespace, whatever its selectors name:
// neither the object nor the Work of another namespace's is written.
func TestZ32OverridesOfAnotherNamespace(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		room := newThing(namespaces, "", s.unique("room")).mark("labels", scenarioLabel, s.ns)
		mine, theirs := s.ConfigMap("config"), template{newThing(configMaps, room.name(), "config")}.At(1)
		s.Apply(room, s.Policy("pp").Selecting(mine).To("member1"), mine)
		s.Apply(s.ClusterPolicy("theirs").To("member1").set("spec.resourceSelectors", []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": room.name(), "name": theirs.name()},
		}), theirs)
		s.Expect(mine).In("member1")
		s.Expect(theirs).In("member1")
		s.Settle()
		work, object := s.Expect(mine).work("member1").GetResourceVersion(), s.LiveIn("member1", mine).GetResourceVersion()

		spec := s.override("", theirs, "tenant", "another", "member1").body["spec"]
		over := newThing(overrides, room.name(), "over").with("spec", spec)
		aimed := newThing(overrides, room.name(), "aimed").with("spec", spec).with("spec.resourceSelectors", []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": s.ns, "name": mine.name()},
		})
		if err := s.apply(s.lab.hub, aimed); err == nil || !strings.Contains(err.Error(), "its own namespace only") {
			s.Errorf("an override of another namespace's objects: %v, want it refused", err)
		}
		s.Apply(over)
		s.Expect(theirs).Labelled("member1", "tenant", "another")
		s.Delete(over)
		s.Expect(theirs).Labelled("member1", "tenant", "")
		s.Settle()
		if is := s.Expect(mine).work("member1").GetResourceVersion(); is != work {
			s.Errorf("the Work of another namespace was written: version %s, was %s", is, work)
		}
		if is := s.LiveIn("member1", mine).GetResourceVersion(); is != object {
			s.Errorf("the object of another namespace was written: version %s, was %s", is, object)
		}
	})
}
