// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var overridesWithout = resource{group: placementGroup, version: "v1", kind: "ClusterResourceOverride", plural: "clusterresourceoverrides", clusterScoped: true}

// What an envelope carries is overridden by its own kind and name.
func TestC91AnOverrideOfWhatIsInAnEnvelope(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		role := s.ClusterRole("reader")
		s.use(role.resource)
		envelope := s.ConfigMap("envelope").set("data", map[string]any{"role": fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": %q}, "rules": []}`, role.name())})
		envelope = template{envelope.mark("annotations", fleet+"envelope-configmap", "true")}
		p := s.everywhere()
		override := newThing(overridesWithout, "", s.unique("gold")).with("spec", map[string]any{
			"placement":                map[string]any{"name": p.name()},
			"clusterResourceSelectors": []any{map[string]any{"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": role.name()}},
			"policy": map[string]any{"overrideRules": []any{map[string]any{
				"clusterSelector":    map[string]any{"clusterSelectorTerms": []any{}},
				"jsonPatchOverrides": []any{map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"tier": "gold"}}},
			}}},
		})
		s.Apply(envelope, override, p)
		s.Says(p, carriedOverridden...)
		for _, m := range members {
			if got := s.LiveIn(m, role).GetLabels()["tier"]; got != "gold" {
				s.Errorf("%s: tier is %q, want gold", m, got)
			}
		}
	})
}

// With server-side apply, fields of others are taken where the placement forces it
// alone.
func TestC101FieldsOfOthersAreTakenWithForceAlone(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere().with("spec.strategy.applyStrategy.type", "ServerSideApply")
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.PatchIn(members[0], cm, `{"data":{"page":"mine"}}`)
		status := s.Says(p, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		for _, m := range items(status, "placementStatuses") {
			failed, first := items(m, "failedPlacements"), text(m, "clusterName") == members[0]
			if first && (len(failed) != 1 || text(failed[0], "condition.reason") != "ApplyConflictWithOtherApplier") || !first && len(failed) > 0 {
				s.Errorf("failed in %s: %v", text(m, "clusterName"), failed)
			}
		}
		s.holds(cm, "page", "mine", members[0])
		s.Patch(p, `{"spec":{"strategy":{"applyStrategy":{"serverSideApplyConfig":{"force":true}}}}}`)
		s.holds(cm, "page", "one", members...)
		s.Says(p, carried...)
	})
}

// As long as fewer members are found than are wanted, those that were found are used, and
// for each that is missing the status says why; nothing of what follows is said to be true
// of the placement, nor is anything of an earlier form of it.
func TestC36C80NothingIsTrueBehindWhatIsNot(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.picker(pickN(2)).with("spec.strategy", atOnce)
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Patch(p, `{"spec":{"policy":{"numberOfClusters":5}}}`)
		status := s.Says(p, "Scheduled "+tooFew+" False")
		s.Picks(p, tooFew, members...)
		s.holds(cm, "page", "one", members...)
		if m := text(conditionOf(map[string]any{"status": status}, "ClusterResourcePlacementScheduled"), "message"); m == "" {
			s.Error("nobody is told why")
		}
		s.Eventually(func() error {
			var got []string
			for _, m := range items(s.Live(p).Object, "status.placementStatuses") {
				said := conditionsOf(m)
				got = append(got, strings.TrimSpace(text(m, "clusterName")+" "+said[0])+" "+fmt.Sprint(len(said)))
			}
			slices.Sort(got)
			return differs("what is said of the members", got, []string{
				"Scheduled ScheduleFailed False 1", "Scheduled ScheduleFailed False 1",
				"member1 Scheduled Scheduled True 6", "member2 Scheduled Scheduled True 6", "member3 Scheduled Scheduled True 6",
			})
		})
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...) // what changes reaches those that there are
		s.Patch(p, `{"spec":{"policy":{"numberOfClusters":3}}}`)
		s.Says(p, carried...)
		s.Patch(p, `{"spec":{"policy":{"numberOfClusters":0}}}`) // C39
		s.Picks(p, enough)
		s.Expect(cm).In()
	})
}
