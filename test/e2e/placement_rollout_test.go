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

var (
	overridesWithin   = resource{group: placementGroup, version: "v1", kind: "ResourceOverride", plural: "resourceoverrides"}
	overrideSnapshots = resource{group: placementGroup, version: "v1", kind: "ResourceOverrideSnapshot", plural: "resourceoverridesnapshots"}
	placedWorks       = resource{group: placementGroup, version: "v1", kind: "Work", plural: "works"}
)

// oneByOne is a rollout that leaves at most one member unavailable.
var oneByOne = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
	"maxUnavailable": int64(1), "maxSurge": int64(1), "unavailablePeriodSeconds": int64(1),
}}

// taint taints a member for placements, until the end of the test.
func (s *scenario) taint(member, key string) {
	s.Helper()
	set := func(taints string) error {
		_, err := s.lab.hub.on(pickMembers, "").Patch(s.background(), member, mergePatch, []byte(`{"spec":{"taints":`+taints+`}}`), patchOptions)
		return err
	}
	if err := set(fmt.Sprintf(`[{"key":%q,"value":"yes","effect":"NoSchedule"}]`, key)); err != nil {
		s.Fatalf("taint %s: %v", member, err)
	}
	s.Cleanup(func() {
		if err := set("null"); err != nil {
			s.Errorf("clean up %s: %v", member, err)
		}
	})
}

// A toleration that is added lets the members be picked that it tolerates; who has the
// placement keeps it, whatever taint comes.
func TestC51C53C59AnAddedToleration(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		before := s.picker(map[string]any{"placementType": "PickAll"})
		before = before.with("metadata.name", before.name()+"-b")
		s.Apply(before)
		s.Picks(before, enough, members...)
		s.taint(members[2], "maintenance")
		p := s.picker(map[string]any{"placementType": "PickAll"})
		s.Apply(p)
		decided := s.Picks(p, enough, members[:2]...)
		if why := text(decided[members[2]], "reason"); why != "cluster has the taint maintenance=yes:NoSchedule, which is not tolerated" {
			s.Errorf("%s: %q", members[2], why)
		}
		s.Patch(p, `{"spec":{"policy":{"tolerations":[{"key":"maintenance","operator":"Equal","value":"yes","effect":"NoSchedule"}]}}}`)
		s.Picks(p, enough, members...)
		s.Picks(before, enough, members...)
	})
}

// One member at a time gets a change; the first that refuses it stops the rollout, and
// what mends it goes on.
func TestC64C66C67AFailureStopsTheRollout(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub") // no member serves it
		cm, widget := s.ConfigMap("pages").set("data.page", "one"), newThing(widgets, s.ns, "refused")
		s.Apply(cm, widget)
		s.knows(widgets)
		s.Delete(widget)
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(p)
		s.Says(p, carried...)
		s.Apply(widget, cm.set("data.page", "two"))
		var waits []string
		s.Eventually(func() (err error) {
			waits, err = s.stopped(p, widgets.kind)
			return err
		})
		s.Says(p, carried[0], "RolloutStarted RolloutNotStartedYet False")
		s.holds(cm, "page", "one", waits...)
		s.Delete(widget)
		s.Says(p, carried...)
		s.holds(cm, "page", "two", members...)
	})
}

// stopped are the members that wait because one failed to apply an object of the kind.
func (s *scenario) stopped(p thing, kind string) (waits []string, err error) {
	failed := 0
	for _, m := range items(s.Live(p).Object, "status.placementStatuses") {
		said := conditionsOf(m)
		switch said[len(said)-1] {
		case "Applied NotAllWorkHaveBeenApplied False":
			failed++
			if f := items(m, "failedPlacements"); len(f) != 1 || text(f[0], "kind") != kind {
				return nil, fmt.Errorf("%s: failed %v", text(m, "clusterName"), f)
			}
		case "RolloutStarted RolloutNotStartedYet False":
			waits = append(waits, text(m, "clusterName"))
		}
	}
	if failed != 1 || len(waits) != 2 {
		return nil, fmt.Errorf("%d failed, and %q wait", failed, waits)
	}
	return waits, nil
}

// What an override keeps from a member leaves it, and comes back with the end of the
// override.
func TestC70C71AnOverrideKeepsAnObjectFromAMember(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		key := s.labelMembers(map[string]string{members[0]: "without"})
		p := s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Expect(cm).In(members...)
		override := newThing(overridesWithin, s.ns, "without").with("spec", map[string]any{
			"placement":         map[string]any{"name": p.name()},
			"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "name": cm.name()}},
			"policy": map[string]any{"overrideRules": []any{map[string]any{
				"clusterSelector": map[string]any{"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: "without"}}}}},
				"overrideType":    "Delete",
			}}},
		})
		s.Apply(override)
		s.Expect(cm).In(members[1:]...)
		s.Says(p, carriedOverridden...)
		s.Delete(override)
		s.Expect(cm).In(members...)
		s.Says(p, carried...)
	})
}

// An override that is deleted and made anew like it was, as kubectl replace --force does,
// is in force also when the garbage collector has taken what was kept of the former one;
// nobody sees that it was gone.
func TestC70AnOverrideThatIsReplacedStaysInForce(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		key := s.labelMembers(map[string]string{members[0]: "without"})
		p := s.everywhere()
		override := newThing(overridesWithin, s.ns, "without").with("spec", map[string]any{
			"placement":         map[string]any{"name": p.name()},
			"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "name": cm.name()}},
			"policy": map[string]any{"overrideRules": []any{map[string]any{
				"clusterSelector": map[string]any{"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: "without"}}}}},
				"overrideType":    "Delete",
			}}},
		})
		s.Apply(override, cm, p)
		s.Expect(cm).In(members[1:]...)
		s.whileAway(func() {
			s.Delete(override)
			s.Apply(override)
		})
		s.Eventually(func() error {
			all, err := s.lab.hub.on(overrideSnapshots, s.ns).List(s.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			if len(all.Items) == 0 {
				return errors.New("nothing is kept of the override")
			}
			for _, snapshot := range all.Items {
				if owner := metav1.GetControllerOf(&snapshot); owner == nil || owner.UID != s.Live(override).GetUID() {
					return fmt.Errorf("%s is the former override's, and the garbage collector takes it", snapshot.GetName())
				}
			}
			return nil
		})
		s.Apply(cm.set("data.page", "two"))
		s.Eventually(func() error {
			for _, m := range members[1:] {
				if o := s.Expect(cm).inMember(m); o == nil || text(o.Object, "data.page") != "two" {
					return fmt.Errorf("%s has no page two", m)
				}
			}
			return nil
		})
		s.Expect(cm).In(members[1:]...)
	})
}

// What placements cost, and how they are, is measured under the released names. The
// metric of evictions has a test of its own, as those of members have.
func TestC104Metrics(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.everywhere()
		s.Apply(s.ConfigMap("pages"), p)
		s.Says(p, carried...)
		s.Eventually(func() error {
			raw := s.metrics()
			for _, name := range []string{
				"fleet_workload_placement_status_last_timestamp_seconds{conditionType=\"Completed\",generation=\"1\",name=\"" + p.name() + "\",reason=\"Completed\",status=\"True\"}",
				"scheduling_cycle_duration_milliseconds_count", "scheduling_active_workers", "work_apply_time_seconds_count",
				"fleet_work_processing_requests_total{apply_status=\"Applied\"}", "fleet_manifest_processing_requests_total{apply_status=\"Applied\"}",
			} {
				if !strings.Contains(raw, name) {
					return fmt.Errorf("no %s", name)
				}
			}
			return nil
		})
	})
}

// A Work of a placement that was deleted while nothing ran comes back, and its object
// is not touched.
func TestC72AWorkThatWasDeletedComesBack(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		uid := s.LiveIn(members[0], cm).GetUID()
		works := s.lab.hub.on(placedWorks, "fleet-member-"+members[0])
		name := p.name() + "-work"
		s.whileRestarting(func() {
			if _, err := works.Patch(s.background(), name, mergePatch, []byte(`{"metadata":{"finalizers":null}}`), patchOptions); err != nil {
				s.Errorf("patch %s: %v", name, err)
			}
			if err := works.Delete(s.background(), name, metav1.DeleteOptions{}); err != nil {
				s.Errorf("delete %s: %v", name, err)
			}
		})
		s.Eventually(func() error {
			w, err := works.Get(s.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return isCondition("Applied", "True", "AllManifestsApplied")(w.Object)
		})
		if now := s.LiveIn(members[0], cm).GetUID(); now != uid {
			s.Errorf("the object was %s, and is %s", uid, now)
		}
		s.Says(p, carried...)
	})
}

// The bindings of a placement that somebody deleted are made anew, and what they
// brought to the members is not touched.
func TestC52Z4ABindingThatWasDeletedComesBack(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		before := s.uids(cm, members...)
		for _, b := range s.madeOf(placement{p}, pickBindings) {
			if err := s.lab.hub.on(pickBindings, "").Delete(s.Context(), b.GetName(), metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		s.Eventually(func() error {
			all := s.madeOf(placement{p}, pickBindings)
			for _, b := range all {
				if b.GetDeletionTimestamp() != nil || text(b.Object, "spec.state") != "Bound" {
					return fmt.Errorf("%s is %s", b.GetName(), text(b.Object, "spec.state"))
				}
			}
			if len(all) != len(members) {
				return fmt.Errorf("%d bindings, want %d", len(all), len(members))
			}
			return nil
		})
		s.Says(p, carried...)
		s.same(cm, before, members...)
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...)
		s.same(cm, before, members...)
	})
}

// Where one member is suspended, the others wait for it, and explain says so.
func TestC62ExplainSaysWhatARolloutWaitsFor(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.strategy", oneByOne)
		s.Apply(p)
		s.Says(p, carried...)
		s.must("suspend", "crp/"+p.name(), "--cluster", members[0])
		s.Apply(cm.set("data.page", "two"))
		s.Eventually(func() error {
			out := strings.Join(strings.Fields(s.must("explain", "crp/"+p.name())), " ")
			for _, want := range []string{
				"Rollout 2 of 3 clusters wait for others to be available: " + members[0] + " is suspended",
				members[0] + " yes", "suspended: until it is resumed",
				"RolloutStarted: has " + p.name() + "-0-snapshot, and gets " + p.name() + "-1-snapshot later",
			} {
				if !strings.Contains(out, want) {
					return fmt.Errorf("no %q in: %s", want, out)
				}
			}
			return nil
		})
		s.must("resume", "crp/"+p.name(), "--cluster", members[0])
		s.holds(cm, "page", "two", members...)
		s.Says(p, carried...)
		if out := s.must("explain", "crp/"+p.name()); strings.Contains(out, "\nRollout ") {
			s.Errorf("nobody waits:\n%s", out)
		}
	})
}
