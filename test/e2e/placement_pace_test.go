// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var ingresses = resource{group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses"}

// stages is how far the members of a placement have come: which snapshot they have,
// when they got it, and how many of them are not known to be available with what they
// have.
func (s *scenario) stages(p thing) (has map[string]string, at []time.Time, unavailable int, err error) {
	list, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
	if err != nil {
		return nil, nil, 0, err
	}
	has = map[string]string{}
	for _, b := range list.Items {
		has[text(b.Object, "spec.targetCluster")] = text(b.Object, "spec.resourceSnapshotName")
		got, err := time.Parse(time.RFC3339Nano, b.GetAnnotations()["sluice.dev/bound-at"])
		if err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", b.GetName(), err)
		}
		at = append(at, got)
		c := conditionOf(b.Object, "Available")
		if text(c, "status") != "True" || number(c, "observedGeneration") != b.GetGeneration() {
			unavailable++
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return has, at, unavailable, nil
}

// have tells whether all members have the snapshot of that index.
func have(has map[string]string, p thing, index int) error {
	want := fmt.Sprintf("%s-%d-snapshot", p.name(), index)
	for member, is := range has {
		if is != want {
			return fmt.Errorf("%s has %s, want %s", member, is, want)
		}
	}
	return nil
}

// Of what nobody can tell whether it is available, the next member gets the change when
// the time is up that the strategy says.
func TestC65WhatCannotBeSeenTakesItsTime(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		const period = 4 * time.Second
		ingress := newThing(ingresses, s.ns, "front").with("spec.defaultBackend.service", map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}})
		p := s.picker(nil).with("spec.strategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
			"maxUnavailable": int64(1), "maxSurge": int64(3), "unavailablePeriodSeconds": int64(period.Seconds()),
		}})
		s.Apply(ingress, p)
		for _, m := range items(s.Says(p, carried...), "placementStatuses") {
			if is := text(conditionOf(map[string]any{"status": m}, "Available"), "reason"); is != "NotAllWorkAreAvailabilityTrackable" {
				s.Errorf("%s: Available %s", text(m, "clusterName"), is)
			}
		}
		s.Apply(ingress.with("spec.defaultBackend.service.name", "another"))
		var at []time.Time
		err := s.within(3*timeout, func() (err error) {
			var has map[string]string
			if has, at, _, err = s.stages(p); err != nil {
				return err
			}
			return have(has, p, 1)
		})
		if err != nil {
			s.Fatal(err)
		}
		for i := 1; i < len(at); i++ {
			if d := at[i].Sub(at[i-1]); d < period {
				s.Errorf("member %d got it %s after the one before, want %s", i, d, period)
			}
		}
		s.Says(p, carried...)
	})
}

// An application is updated in one member after the other, and is available in the
// others at each moment: no member is written to before the one before it is available.
func TestC64C68C85OneMemberAfterTheOther(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		app := s.Deployment("web")
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(app, p)
		s.Says(p, carried...)
		s.Expect(app).In(members...) // which has them followed
		s.Apply(app.Image("nginx:1.27.1"))
		seen := 0
		err := s.within(3*timeout, func() error {
			has, _, unavailable, err := s.stages(p)
			if err != nil {
				return err
			}
			if seen = max(seen, unavailable); seen > 1 {
				s.Fatalf("%d members are unavailable at once", seen)
			}
			if len(has) != len(members) || unavailable > 0 {
				return fmt.Errorf("%d of %d members are available", len(has)-unavailable, len(members))
			}
			return have(has, p, 1)
		})
		if err != nil {
			s.Fatal(err)
		}
		if seen != 1 {
			s.Error("no member was ever seen to be updated")
		}
		s.Says(p, carried...)
		s.inTurns(app, "nginx:1.27.1")
		s.toldOnce(p) // for the placement is as it was
	})
}

// inTurns checks by what the members' API servers told that each began with the image
// after the one before it was through.
func (s *scenario) inTurns(app template, image string) {
	s.Helper()
	const late = time.Second // of what one member tells, compared with another
	type turn struct {
		member       string
		began, ended time.Time
	}
	var turns []turn
	for _, m := range members {
		t := turn{member: m}
		for _, c := range s.lab.clusters[m].mirror(deployments).since(s.ns, 0) {
			d := c.after
			if keyOf(d) != app.key() || text(items(d.Object, "spec.template.spec.containers")[0], "image") != image {
				continue
			}
			if t.began.IsZero() {
				t.began = c.at
			}
			st, _ := d.Object["status"].(map[string]any)
			if t.ended.IsZero() && number(st, "observedGeneration") == d.GetGeneration() && number(st, "updatedReplicas") == 1 && number(st, "availableReplicas") == 1 && number(st, "replicas") == 1 {
				t.ended = c.at
			}
			if number(st, "availableReplicas") == 0 && len(st) > 0 {
				s.Errorf("%s has nothing that runs at %s", m, c.at)
			}
		}
		if t.ended.IsZero() {
			s.Errorf("%s was never seen to have %s available", m, image)
		}
		turns = append(turns, t)
	}
	slices.SortFunc(turns, func(a, b turn) int { return a.began.Compare(b.began) })
	for i := 1; i < len(turns); i++ {
		if before := turns[i-1]; turns[i].began.Before(before.ended.Add(-late)) {
			s.Errorf("%s began %s before %s was through", turns[i].member, before.ended.Sub(turns[i].began), before.member)
		}
	}
}

// What never becomes available in the first member goes no further, in none of the
// others, and they go on with what they have; what mends it goes everywhere.
func TestC64WhatIsNotAvailableGoesNoFurther(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		app := s.Deployment("web")
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(app, p)
		s.Says(p, carried...)
		before := s.uids(app, members...)
		s.Apply(app.At(2).set("spec.template.spec.nodeSelector", map[string]any{"nobody": "has-it"}))
		s.Says(p, carried[0], "RolloutStarted RolloutNotStartedYet False")
		var first string
		s.Eventually(func() error {
			var has []string
			for _, m := range members {
				if s.Expect(app).content(s.LiveIn(m, app)) == "2" {
					has = append(has, m)
				}
			}
			if len(has) != 1 {
				return fmt.Errorf("%q have it", has)
			}
			first = has[0]
			return isCondition("Available", "False", "NotAllWorkAreAvailable")(map[string]any{"status": s.of(p, first)})
		})
		pause(s.Context(), 3*tick)
		for _, m := range members {
			if m == first {
				continue
			}
			live := s.LiveIn(m, app)
			if got := s.Expect(app).content(live); got != "1" || number(live.Object, "status.availableReplicas") != 1 {
				s.Errorf("%s has content %s, and %d available", m, got, number(live.Object, "status.availableReplicas"))
			}
			if err := isCondition("RolloutStarted", "False", "RolloutNotStartedYet")(map[string]any{"status": s.of(p, m)}); err != nil {
				s.Errorf("%s: %v", m, err)
			}
		}
		s.Apply(app.At(3))
		s.Expect(app).At(3, members...)
		s.Says(p, carried...)
		s.same(app, before, members...)
	})
}

// The member that the rollout waits for leaves: the next one gets the change, and no
// further. Who left keeps what it has, and gets the newest when it is back.
func TestC64TheMemberThatIsWaitedForLeaves(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		app := s.Deployment("web")
		p := s.picker(nil).with("spec.strategy", oneByOne)
		s.Apply(app, p)
		s.Says(p, carried...)
		before := s.uids(app, members...)
		s.Apply(app.At(2).set("spec.template.spec.nodeSelector", map[string]any{"nobody": "has-it"}))
		having := func(n int) (has []string) {
			s.Eventually(func() error {
				has = nil
				for _, m := range members {
					if s.Expect(app).content(s.LiveIn(m, app)) == "2" {
						has = append(has, m)
					}
				}
				if len(has) != n {
					return fmt.Errorf("%q have it, want %d", has, n)
				}
				return nil
			})
			return has
		}
		first := having(1)[0]
		if out, err := s.Sluice("unjoin", first); err != nil {
			s.Fatalf("unjoin: %v\n%s", err, out)
		}
		both := having(2)
		pause(s.Context(), 3*tick)
		if now := having(2); !slices.Equal(now, both) || !slices.Contains(now, first) {
			s.Errorf("%q have it, want %q with %s", now, both, first)
		}
		s.same(app, before, members...)
		s.joins(first)
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
		s.Apply(app.At(3))
		s.Expect(app).At(3, members...)
		s.Says(p, carried...)
		s.same(app, before, members...)
	})
}

// boundAt is since when each member has, or loses, what the placement gives it; those
// that got nothing yet are left out.
func (s *scenario) boundAt(p thing) (map[string]time.Time, error) {
	all, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
	if err != nil {
		return nil, err
	}
	since := map[string]time.Time{}
	for _, b := range all.Items {
		if at := b.GetAnnotations()["sluice.dev/bound-at"]; at != "" {
			if since[text(b.Object, "spec.targetCluster")], err = time.Parse(time.RFC3339Nano, at); err != nil {
				return nil, fmt.Errorf("%s: %w", b.GetName(), err)
			}
		}
	}
	return since, nil
}

// Where one member makes room for two others, and there is no surge, the first of them
// gets the placement, for there is room for one. Until it counts as available there, the
// member that is left keeps it, and the other waits.
func TestC63RemovalsAreUnavailableAndNewMembersSurge(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		const period = 4 * time.Second
		old, first, second := members[0], members[1], members[2]
		ingress := newThing(ingresses, s.ns, "front").with("spec.defaultBackend.service", map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}})
		on := func(in ...string) thing {
			return s.picker(map[string]any{"placementType": "PickFixed", "clusterNames": list(in...)}).with("spec.strategy", map[string]any{
				"type":          "RollingUpdate",
				"rollingUpdate": map[string]any{"maxUnavailable": int64(1), "maxSurge": int64(0), "unavailablePeriodSeconds": int64(period.Seconds())},
			})
		}
		p := on(old)
		s.Apply(ingress, p)
		s.Says(p, carried...)
		s.Eventually(func() error { // what was given lately counts as unavailable, and may go at once
			since, err := s.boundAt(p)
			if err == nil && time.Since(since[old]) < period+2*time.Second {
				err = fmt.Errorf("%s has it since %s", old, since[old])
			}
			return err
		})

		s.Apply(on(first, second))
		waited := false
		err := s.within(2*timeout, func() error {
			asked := time.Now()
			since, err := s.boundAt(p)
			if err != nil {
				return err
			}
			if len(since) > 2 {
				s.Fatalf("%v have it, and no surge is allowed", since)
			}
			_, stays := since[old]
			at, given := since[first]
			if waited = waited || stays && given; given && !stays && asked.Before(at.Add(period)) {
				s.Fatalf("%s lost it before %s, which got it at %s, counts as available", old, first, at)
			}
			if _, given := since[second]; !given || stays {
				return fmt.Errorf("it is in %v", since)
			}
			if d := since[second].Sub(at); d < period {
				s.Fatalf("%s got it %s after %s, want %s", second, d, first, period)
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		if !waited {
			s.Errorf("%s was never seen to wait for %s", old, first)
		}
		s.Says(p, carried...)
		s.Expect(ingress).In(first, second)
	})
}

// Where what is selected and where it goes change at once, who is picked anew gets the
// new content, and who is not picked any more loses the old.
func TestC69ContentAndPolicyChangeAtOnce(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{members[0]: "a", members[1]: "a", members[2]: "b"})
		to := func(value string) map[string]any {
			return map[string]any{"placementType": "PickAll", "affinity": wanting(key, value)}
		}
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.picker(to("a")).with("spec.strategy", oneByOne)
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.holds(cm, "page", "one", members[:2]...)
		s.Apply(cm.set("data.page", "two"), s.picker(to("b")).with("spec.strategy", oneByOne))
		s.Picks(p, enough, members[2])
		s.Expect(cm).In(members[2])
		s.Snapshots(placement{p}, snapshots, "-0-snapshot", "-1-snapshot latest")
		s.holds(cm, "page", "two", members[2])
		s.Says(p, carried...)
	})
}

// A placement that is rolled back stays at the snapshot, whatever changes, until it is
// released.
func TestARollbackStaysUntilItIsReleased(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "one")
		p := s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Apply(cm.set("data.page", "two"))
		s.Snapshots(placement{p}, snapshots, "-0-snapshot", "-1-snapshot latest")
		s.holds(cm, "page", "two", members...)
		if out, err := s.Sluice("rollback", "crp/"+p.name(), "--to-index", "7"); err == nil {
			s.Errorf("rolled back to a snapshot that there is not: %s", out)
		}
		if out, err := s.Sluice("rollback", "crp/"+p.name(), "--to-index", "0"); err != nil {
			s.Fatalf("%v: %s", err, out)
		}
		s.holds(cm, "page", "one", members...)
		if got := text(s.Says(p, carried...), "observedResourceIndex"); got != "0" {
			s.Errorf("observedResourceIndex %q, want 0", got)
		}
		s.Apply(cm.set("data.page", "three"))
		s.Snapshots(placement{p}, snapshots, "-0-snapshot", "-1-snapshot", "-2-snapshot latest")
		s.Says(p, carried...)
		s.holds(cm, "page", "one", members...)
		if out, err := s.Sluice("rollback", "crp/"+p.name(), "--release"); err != nil {
			s.Fatalf("%v: %s", err, out)
		}
		s.holds(cm, "page", "three", members...)
		s.Says(p, carried...)
	})
}

// What a snapshot holds was, and is never changed.
func TestC18SnapshotsAreImmutable(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.Placement("c18")
		s.Apply(s.ConfigMap("pages"), p)
		s.Snapshots(p, snapshots, "-0-snapshot latest")
		s.Snapshots(p, policySnapshots, "-0 latest")
		for name, patch := range map[string]struct {
			of    resource
			patch string
		}{
			"-0-snapshot": {snapshots, `{"spec":{"selectedResources":[]}}`},
			"-0":          {policySnapshots, `{"spec":{"policy":{"placementType":"PickAll"}}}`},
		} {
			_, err := s.lab.hub.on(patch.of, "").Patch(s.Context(), p.name()+name, mergePatch, []byte(patch.patch), patchOptions)
			if err == nil || !strings.Contains(err.Error(), "immutable") {
				s.Errorf("%s%s was changed: %v", p.name(), name, err)
			}
		}
	})
}

// The events of a placement come once each.
func TestC85EventsComeOnce(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.everywhere()
		s.Apply(s.ConfigMap("pages"), p)
		s.Says(p, carried...)
		s.toldOnce(p)
	})
}

// toldOnce waits until each of the seed's events came once about the placement, which was
// not edited.
func (s *scenario) toldOnce(p thing) {
	s.Helper()
	want := map[string]string{
		"PlacementRolloutStarted":      "Started rolling out the latest resources",
		"PlacementOverriddenSucceeded": "Placement has been successfully overridden",
		"PlacementWorkSynchronized":    "Work(s) have been created or updated successfully for the selected cluster(s)",
		"PlacementApplied":             "Resources have been applied to the selected cluster(s)",
		"PlacementRolloutCompleted":    "Resources are available in the selected clusters",
	}
	s.Eventually(func() error {
		got := map[string]int64{}
		for _, e := range s.events(p) {
			reason := text(e, "reason")
			got[reason] += max(number(e, "count"), 1)
			if message, known := want[reason]; known && (text(e, "message") != message || text(e, "type") != "Normal" || text(e, "source.component") != "cluster-resource-placement-controller") {
				s.Fatalf("event %v", e)
			}
		}
		for reason := range want {
			if got[reason] != 1 {
				return fmt.Errorf("%s was told %d times: %v", reason, got[reason], got)
			}
		}
		return nil
	})
}
