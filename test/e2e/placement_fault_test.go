// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// of is what the placement says of a member, in its status.
func (s *scenario) of(p thing, member string) map[string]any {
	for _, m := range items(s.Live(p).Object, "status.placementStatuses") {
		if text(m, "clusterName") == member {
			return m
		}
	}
	return nil
}

// failing waits until the placement fails in these members alone, each with one object
// and that reason, and returns what it says of that object in the first.
func (s *scenario) failing(p thing, reason string, in ...string) map[string]any {
	s.Helper()
	var first map[string]any
	s.Eventually(func() error {
		var got []string
		for _, m := range members {
			failed := items(s.of(p, m), "failedPlacements")
			if len(failed) == 0 {
				continue
			}
			got = append(got, m)
			if len(failed) != 1 || text(failed[0], "condition.reason") != reason {
				return fmt.Errorf("%s: failed %s, want one with %s", m, asJSON(failed), reason)
			}
			if first == nil {
				first = failed[0]
			}
		}
		return differs("failing members", got, in)
	})
	return first
}

// What somebody changed in a member is left as it is where the strategy says so, and
// both sides of each difference are told; so is what the member held before.
func TestC74C76C82DriftAndDifference(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere().with("spec.strategy.applyStrategy.whenToApply", "IfNotDrifted")
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.PatchIn(members[0], cm, `{"data":{"page":"changed here"}}`)
		s.failing(p, "FoundDrifts", members[0])
		s.detail(p, "driftedPlacements", "observedDrifts", "one", "changed here")
		s.holds(cm, "page", "changed here", members[0])
		s.PatchIn(members[0], cm, `{"data":{"page":"one"}}`) // he puts it back
		s.Says(p, carried...)
		s.Unchanged(func() {}) // last: the placement selects its canary, too, which is a policy's
	})
}

// What drifted is taken back as soon as the strategy says so.
func TestC74C76WhatDriftedIsTakenBack(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere().with("spec.strategy.applyStrategy.whenToApply", "IfNotDrifted")
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.PatchIn(members[0], cm, `{"data":{"page":"changed again"}}`)
		s.failing(p, "FoundDrifts", members[0])
		s.holds(cm, "page", "changed again", members[0])
		s.Patch(p, `{"spec":{"strategy":{"applyStrategy":{"whenToApply":"Always"}}}}`)
		s.Says(p, carried...)
		s.holds(cm, "page", "one", members...)
	})
}

// What a member holds already is taken over as the strategy says.
func TestC74C82TakingOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ when, reason string }{
		"never": {"Never", "NotTakenOver"}, "without a difference": {"IfNoDiff", "FailedToTakeOver"},
	} {
		t.Run(name, func(t *testing.T) {
			once(t, gatesOff, func(s *scenario) {
				cm := s.ConfigMap("pages").set("data.page", "one")
				s.ApplyIn(members[0], newThing(namespaces, "", s.ns), cm.set("data.page", "theirs").itself())
				p := s.everywhere().with("spec.strategy.applyStrategy.whenToTakeOver", tc.when)
				s.Apply(cm, p)
				s.Eventually(func() error {
					for _, f := range items(s.of(p, members[0]), "failedPlacements") {
						if text(f, "name") == cm.name() && text(f, "condition.reason") == tc.reason {
							return nil
						}
					}
					return fmt.Errorf("%s: %s", members[0], asJSON(s.of(p, members[0])))
				})
				if tc.when == "IfNoDiff" {
					s.detail(p, "diffedPlacements", "observedDiffs", "one", "theirs")
				}
				s.holds(cm, "page", "theirs", members[0])
				s.holds(cm, "page", "one", members[1:]...)
				s.Patch(p, `{"spec":{"strategy":{"applyStrategy":{"whenToTakeOver":"Always"}}}}`)
				s.Says(p, carried...)
				s.holds(cm, "page", "one", members...)
			})
		})
	}
}

// detail checks a difference that is told of the ConfigMap in the first member.
func (s *scenario) detail(p thing, kind, field, hub, member string) {
	s.Helper()
	s.Eventually(func() error {
		for _, d := range items(s.of(p, members[0]), kind) {
			for _, f := range items(d, field) {
				if text(f, "path") == "/data/page" && text(f, "valueInHub") == hub && text(f, "valueInMember") == member {
					return nil
				}
			}
		}
		return fmt.Errorf("%s: %s", kind, asJSON(s.of(p, members[0])))
	})
}

// Nothing is written where differences are to be reported.
func TestC77C82ReportDiff(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		s.ApplyIn(members[0], newThing(namespaces, "", s.ns), cm.set("data.page", "theirs").itself())
		p := s.everywhere().with("spec.strategy.applyStrategy.type", "ReportDiff")
		s.Apply(cm, p)
		s.Says(p, append(slices.Clone(carried[:4]), "DiffReported DiffReportingCompleted True")...)
		s.detail(p, "diffedPlacements", "observedDiffs", "one", "theirs")
		s.holds(cm, "page", "theirs", members[0])
		s.Expect(cm).In(members[0])
	})
}

// wanted waits until a placement that has come to its end says that somebody else wants
// the object.
func (s *scenario) wanted(p thing, object, by string) {
	s.Helper()
	c := conditionOf(map[string]any{"status": s.Says(p, append(slices.Clone(carried), "Contested WantedByOthers True")...)}, "Contested")
	if m := text(c, "message"); !strings.Contains(m, object) || !strings.Contains(m, by) {
		s.Errorf("%s says %q", p, m)
	}
}

// Of a placement, another's object is reported on both, and not fought over; when the
// first goes, the second has it.
func TestC75TwoPlacementsOfOneObject(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		role := s.ClusterRole("shared")
		one := s.everywhere().with("spec.resourceSelectors", []any{selector(role.resource, role.name())})
		two := one.with("metadata.name", one.name()+"-2")
		s.Apply(role, one)
		s.Says(one, carried...)
		s.Apply(two)
		s.Says(two, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		s.failing(two, "ApplyConflictBetweenPlacements", members...)
		s.wanted(one, role.name(), two.name())
		s.Unchanged(func() { s.Touch(two) })
		s.Delete(two)
		s.Says(one, carried...)
		s.Apply(two)
		s.wanted(one, role.name(), two.name())
		s.Delete(one)
		s.Says(two, carried...)
		s.Expect(role).In(members...)
	})
}

// What leaves the hub leaves the members, with the next snapshot.
func TestC15C16WhatIsDeletedLeavesTheMembers(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		other := newThing(namespaces, "", s.unique("other"))
		inner, cm := template{newThing(configMaps, other.name(), "inner")}, s.ConfigMap("pages")
		p := s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, s.ns), selector(namespaces, other.name())})
		s.Apply(cm, other, inner, p)
		s.Says(p, carried...)
		s.Expect(inner).In(members...)
		s.Delete(cm)
		if err := s.lab.hub.on(namespaces, "").Delete(s.Context(), other.name(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		err := s.within(2*timeout, func() error {
			for _, m := range members {
				if s.Expect(cm).inMember(m) != nil || s.Expect(inner).inMember(m) != nil {
					return fmt.Errorf("%s has it yet", m)
				}
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		s.Says(p, carried...)
		s.Expect(newThing(namespaces, "", s.ns)).In(members...)
	})
}

// An envelope's objects fail by their own name, with that of the envelope.
func TestC90C92WhatFailsInAnEnvelope(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		quota := newThing(resource{version: "v1", kind: "ResourceQuota", plural: "resourcequotas"}, s.ns, "quota")
		s.use(quota.resource)
		carrying := func(namespace, pods string) template {
			e := s.ConfigMap("envelope").set("data", map[string]any{"quota.yaml": fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: quota\n  namespace: %s\nspec:\n  hard:\n    pods: %q\n", namespace, pods)})
			return template{e.mark("annotations", fleet+"envelope-configmap", "true")}
		}
		p := s.everywhere()
		s.Apply(carrying(s.ns, "-5"), p)
		s.Says(p, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		failed := s.failing(p, "FailedToApply", members...)
		if text(failed, "kind") != "ResourceQuota" || text(failed, "envelope.name") != "envelope" || text(failed, "envelope.namespace") != s.ns || text(failed, "envelope.type") != "ConfigMap" {
			s.Errorf("failed: %s", asJSON(failed))
		}
		s.Apply(carrying("another", "5")) // C90
		s.Says(p, append(slices.Clone(carried[:3]), "WorkSynchronized WorkNotSynchronizedYet False")...)
		c := conditionOf(map[string]any{"status": s.of(p, members[0])}, "WorkSynchronized")
		if m := text(c, "message"); !strings.Contains(m, "quota.yaml") || !strings.Contains(m, "namespace another") {
			s.Errorf("WorkSynchronized: %v", c)
		}
		s.Apply(carrying(s.ns, "5"))
		s.Says(p, carried...)
	})
}

// An override that makes an object invalid in one member fails there; one that cannot
// be applied at all is told of the member as such.
func TestC71C79AnOverrideThatHarmsOneMember(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{members[0]: "odd"})
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		override := func(patch map[string]any) thing {
			return newThing(overridesWithin, s.ns, "odd").with("spec", map[string]any{
				"placement":         map[string]any{"name": p.name()},
				"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "name": cm.name()}},
				"policy": map[string]any{"overrideRules": []any{map[string]any{
					"clusterSelector":    map[string]any{"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: "odd"}}}}},
					"jsonPatchOverrides": []any{patch},
				}}},
			})
		}
		s.Apply(override(map[string]any{"op": "add", "path": "/data/not a key!", "value": "x"}))
		s.failing(p, "FailedToApply", members[0])
		s.Says(p, carried[0], carried[1], "Overridden OverriddenSucceeded True", carried[3], "Applied ApplyFailed False")
		s.holds(cm, "page", "one", members...)
		s.Apply(override(map[string]any{"op": "remove", "path": "/data/nowhere"}))
		s.Says(p, carried[0], carried[1], "Overridden OverriddenFailed False")
		s.holds(cm, "page", "one", members...)
		s.Delete(override(nil))
		s.Says(p, carried...)
	})
}

// Ten edits of what is placed, and of the placement, lead straight to the newest.
func TestC68TenEditsDuringARollout(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "0")
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(cm, p)
		s.Says(p, carried...)
		for i := range 10 {
			s.Apply(cm.set("data.page", fmt.Sprint(i+1)))
			s.Patch(p, fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d,"strategy":{"rollingUpdate":{"maxSurge":%d}}}}`, 10+i, 1+i%2))
		}
		s.holds(cm, "page", "10", members...)
		s.Says(p, carried...)
	})
}

// While a member is away that has to be waited for, nobody gets the change that would
// make one too many unavailable; when it is back, all get it.
func TestC64AMemberIsAwayDuringARollout(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Stop(members[1])
		s.Apply(cm.set("data.page", "two"))
		err := s.within(2*timeout, func() error {
			c := conditionOf(map[string]any{"status": s.of(p, members[1])}, "Applied")
			if text(c, "status") == "True" || c == nil {
				return fmt.Errorf("%s: %v", members[1], c)
			}
			return nil
		})
		if err != nil {
			s.Error(err)
		}
		pause(s.Context(), 2*tick)
		has, _, unavailable, err := s.stages(p)
		if err != nil || unavailable != 1 {
			s.Errorf("%d are unavailable, want the one that is away (%v)", unavailable, err)
		}
		for _, m := range []string{members[0], members[2]} { // who has it is through, and who has not waits
			want := "one"
			if has[m] == p.name()+"-1-snapshot" {
				want = "two"
			}
			if got := text(s.LiveIn(m, cm).Object, "data.page"); got != want {
				s.Errorf("%s has %q of the snapshot %s", m, got, has[m])
			}
		}
		s.Start(members[1])
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
	})
}

// Who is relabelled in the middle of a rollout keeps what it has, and gets what is new.
func TestC34C69RelabelledDuringARollout(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{members[0]: "in", members[1]: "in", members[2]: "in"})
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.picker(map[string]any{"placementType": "PickAll", "affinity": wanting(key, "in")}).with("spec.strategy", oneByOne)
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Apply(cm.set("data.page", "two"))
		s.Snapshots(placement{p}, snapshots, "-0-snapshot", "-1-snapshot latest")
		s.Patch(newThing(pickMembers, "", members[2]), fmt.Sprintf(`{"metadata":{"labels":{%q:"out"}}}`, key))
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
		s.Apply(s.picker(map[string]any{"placementType": "PickAll", "affinity": wanting(key, "out")}).with("spec.strategy", oneByOne))
		s.Expect(cm).In(members[2])
		s.Says(p, carried...)
	})
}

// aside is a ConfigMap in a namespace of its own, of which nothing else is placed (not
// the canary of Settle either), and a placement of that.
func (s *scenario) aside() (template, thing) {
	s.Helper()
	other := newThing(namespaces, "", s.unique("other"))
	cm := template{newThing(configMaps, other.name(), "pages")}.set("data.page", "one")
	s.Apply(other, cm)
	return cm, s.everywhere().with("spec.resourceSelectors", []any{selector(namespaces, other.name())})
}

// Somebody else says when: nothing is given to a member until its binding says so.
func TestC61SomebodyElseRollsOut(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		s.refusesPlacement(s.nowhere().with("spec.strategy.type", "Recreate"), "Unsupported value")
		cm, p := s.aside()
		p = p.with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])}).with("spec.strategy", map[string]any{"type": "External"})
		s.Apply(p)
		s.Says(p, carried[0], "RolloutStarted RolloutControlledByExternalController Unknown")
		s.Settle()
		s.Expect(cm).Nowhere()
		bound := thing{}
		s.Eventually(func() error {
			all, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
			if err != nil {
				return err
			}
			if len(all.Items) != 1 || text(all.Items[0].Object, "spec.state") != "Scheduled" {
				return fmt.Errorf("bindings %v", all.Items)
			}
			bound = newThing(pickBindings, "", all.Items[0].GetName())
			return nil
		})
		s.Patch(bound, fmt.Sprintf(`{"spec":{"state":"Bound","resourceSnapshotName":%q}}`, p.name()+"-0-snapshot"))
		s.holds(cm, "page", "one", members[0])
		s.Says(p, carried...)
		s.Expect(cm).In(members[0])
	})
}

// What is not said is what was released.
func TestC62Defaults(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.picker(nil)
		s.Apply(p)
		live := s.Live(p).Object
		for path, want := range map[string]any{
			"spec.strategy.type": "RollingUpdate", "spec.strategy.rollingUpdate.maxUnavailable": "25%", "spec.strategy.rollingUpdate.maxSurge": "25%",
			"spec.strategy.rollingUpdate.unavailablePeriodSeconds": int64(60), "spec.revisionHistoryLimit": int64(10),
			"spec.strategy.applyStrategy.whenToTakeOver": "Always", "spec.strategy.applyStrategy.whenToApply": "Always",
		} {
			if got := at(live, path); got != want {
				s.Errorf("%s is %v, want %v", path, got, want)
			}
		}
	})
}

// A change that comes while a placement is suspended reaches no member, and those that
// are not suspended get it; resumed, it goes on.
func TestASuspendedPlacementIsHeld(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		s.Apply(p)
		s.Says(p, carried...)
		sluice := func(args ...string) string {
			s.Helper()
			out, err := s.Sluice(args...)
			if err != nil {
				s.Fatalf("%v: %s", err, out)
			}
			return out
		}
		sluice("suspend", "crp/"+p.name(), "--cluster", members[0])
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members[1:]...)
		s.holds(cm, "page", "one", members[0])
		if out := sluice("explain", "crp/"+p.name()); !strings.Contains(out, "Suspended") || !strings.Contains(out, members[0]) {
			s.Errorf("explain does not say that it is suspended in %s:\n%s", members[0], out)
		}
		s.PatchIn(members[0], cm, `{"data":{"page":"by hand"}}`)
		s.Settle()
		s.holds(cm, "page", "by hand", members[0])
		sluice("resume", "crp/"+p.name())
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
	})
}
