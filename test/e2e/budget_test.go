// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelCluster sets the label that is named like the scenario's namespace on a
// Cluster, and takes it off where on is false.
func (s *scenario) labelCluster(member string, on bool) {
	s.Helper()
	value := "null"
	if on {
		value = `"yes"`
	}
	s.Patch(newThing(clusters, "", member), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:%s}}}", s.ns, value))
}

// more are more templates than may leave member1 at once, in member1 and member2 by
// a label of these Clusters.
func (s *scenario) more() (policy, []template) {
	s.Helper()
	list, err := s.lab.hub.on(works, "karmada-es-member1").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	n := 14 + len(list.Items)/3
	var all []template
	for i := range n {
		t := s.ConfigMap(fmt.Sprintf("app%d", i))
		all = append(all, t)
		s.Apply(t)
	}
	for _, m := range []string{"member1", "member2"} {
		s.Cleanup(func() { s.unlabel(m) })
		s.labelCluster(m, true)
	}
	s.Cleanup(func() { s.clear(all) })
	p := s.Policy("pp").Selecting(all...).affinity(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{s.ns: "yes"}}})
	s.Apply(p)
	s.allIn(all, "member1", "member2")
	return p, all
}

// clear deletes the templates and waits until no member has them and no removal is
// held: what is held of one test holds the removals of the next.
func (s *scenario) clear(all []template) {
	s.Helper()
	for _, t := range all {
		s.forget("hub", t.thing)
	}
	err := s.within(timeout, func() error {
		for _, w := range s.lab.hub.mirror(works).of(s.ns) {
			if strings.HasPrefix(w.GetName(), "app") { // and not that of the canary, which goes later
				return fmt.Errorf("Work %s/%s is left", w.GetNamespace(), w.GetName())
			}
		}
		for _, m := range members {
			c, err := s.lab.hub.on(clusters, "").Get(s.background(), m, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if isCondition("RemovalHeld", "True")(c.Object) == nil {
				return fmt.Errorf("removals from %s are still held", m)
			}
		}
		return nil
	})
	if err != nil {
		s.Errorf("clean up: %v", err)
	}
}

// afterwards patches an object of the hub when the test is over.
func (s *scenario) afterwards(o thing, patch string) {
	s.Helper()
	if _, err := s.lab.hub.on(o.resource, o.namespace()).Patch(s.background(), o.name(), mergePatch, []byte(patch), patchOptions); err != nil {
		s.Errorf("patch %s: %v", o, err)
	}
}

func (s *scenario) allIn(all []template, where ...string) {
	s.Helper()
	for _, t := range all {
		s.Expect(t).In(where...)
	}
}

// uidsOf are those that the templates' objects have in a member.
func (s *scenario) uidsOf(all []template, member string) map[string]types.UID {
	s.Helper()
	out := map[string]types.UID{}
	for _, t := range all {
		out[t.name()] = s.LiveIn(member, t).GetUID()
	}
	return out
}

// theSame fails where one of the objects is not the one that it was.
func (s *scenario) theSame(all []template, member string, before map[string]types.UID) {
	s.Helper()
	for name, uid := range s.uidsOf(all, member) {
		if before[name] != uid {
			s.Errorf("%s in %s was made anew", name, member)
		}
	}
}

// removalHeld waits until the Cluster says whether removals are held.
func (s *scenario) removalHeld(member, status string, words ...string) {
	s.Helper()
	s.Eventually(func() error {
		return isCondition("RemovalHeld", status, words...)(s.Live(newThing(clusters, "", member)).Object)
	})
}

// removals is what `kubectl sluice get removals` says.
func (s *scenario) removals() string {
	s.Helper()
	out, err := s.Sluice("get", "removals")
	if err != nil {
		s.Fatalf("get removals: %v\n%s", err, out)
	}
	return out
}

// listed waits until so many removals are listed as held in the member.
func (s *scenario) listed(n int, member string) {
	s.Helper()
	s.Eventually(func() error {
		if out := s.removals(); strings.Count(out, member) != n {
			return fmt.Errorf("of %d removals in %s it lists\n%s", n, member, out)
		}
		return nil
	})
}

// Z12: who takes a label off a Cluster, and with it more than its budget, takes
// nothing out of it.
func TestZ12RelabelledClusterKeepsAll(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, all := s.more()
		before := s.uidsOf(all, "member1")

		s.labelCluster("member1", false)
		s.removalHeld("member1", "True", "approve member1", fmt.Sprint(len(all)))
		s.listed(len(all), "member1")
		s.Told(newThing(clusters, "", "member1"), "Warning", "RemovalHeld", "member1")
		s.Eventually(func() error {
			return isCondition("RemovalHeld", "True", fmt.Sprintf("%d in member1", len(all)))(s.Live(p).Object)
		})
		if out, err := s.Sluice("explain", "configmap/app0"); err != nil || !strings.Contains(out, "removal is held") {
			s.Errorf("explain: %v\n%s", err, out)
		}
		// The member is served as before.
		s.Apply(all[0].At(2))
		s.Expect(all[0]).At(2, "member1", "member2")
		s.Settle()
		s.theSame(all, "member1", before)

		// Back, and nothing was: no object of the member is written.
		versions := s.versions(all, "member1")
		s.labelCluster("member1", true)
		s.removalHeld("member1", "False")
		if out := s.removals(); !strings.Contains(out, "No removal is held") {
			s.Errorf("get removals:\n%s", out)
		}
		s.Eventually(func() error { return isCondition("RemovalHeld", "False")(s.Live(p).Object) })
		s.theSame(all, "member1", before)
		for name, v := range s.versions(all, "member1") {
			if versions[name] != v {
				s.Errorf("%s was written in member1", name)
			}
		}

		// Again, and a person lets it go.
		s.labelCluster("member1", false)
		s.removalHeld("member1", "True")
		s.listed(len(all), "member1")
		out, err := s.Sluice("approve", "member1")
		if err != nil || !strings.Contains(out, fmt.Sprintf("%d removals are approved", len(all))) {
			s.Errorf("approve: %v\n%s", err, out)
		}
		s.allIn(all, "member2")
		s.removalHeld("member1", "False")

		// Once: what goes there again is held again.
		s.labelCluster("member1", true)
		s.allIn(all, "member1", "member2")
		s.labelCluster("member1", false)
		s.removalHeld("member1", "True")
		s.listed(len(all), "member1")
		s.Settle()
		s.allIn(all, "member1", "member2")
	})
}

// versions are the resourceVersions of the templates' objects in a member.
func (s *scenario) versions(all []template, member string) map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, t := range all {
		out[t.name()] = s.LiveIn(member, t).GetResourceVersion()
	}
	return out
}

// Z12: what somebody asks for by name passes: an edit of the placement, the deletion
// of templates; and a few that nobody asked for.
func TestZ12WhatIsAskedForPasses(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, all := s.more()
		few := []template{s.ConfigMap("few0"), s.ConfigMap("few1")}
		label := s.ns + "-few"
		s.Cleanup(func() {
			for _, m := range []string{"member1", "member2"} {
				s.afterwards(newThing(clusters, "", m), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:null}}}", label))
			}
		})
		for _, m := range []string{"member1", "member2"} {
			s.Patch(newThing(clusters, "", m), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:\"yes\"}}}", label))
		}
		s.Apply(few[0], few[1], s.Policy("few").Selecting(few...).affinity(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{label: "yes"}}}))
		s.allIn(few, "member1", "member2")
		s.Patch(newThing(clusters, "", "member1"), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:null}}}", label))
		s.allIn(few, "member2")

		s.Apply(p.To("member2", "member3"))
		s.allIn(all, "member2", "member3")
		for _, t := range all {
			s.Delete(t)
		}
		for _, t := range all {
			s.Expect(t).Nowhere()
		}
		if out := s.removals(); !strings.Contains(out, "No removal is held") {
			s.Errorf("get removals:\n%s", out)
		}
	})
}

// Z12: the gate has edits of a placement held, too, or nothing.
func TestZ12Gate(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		gate := func(value string) {
			s.Patch(newThing(configMaps, systemNamespace, "config-features"), fmt.Sprintf(`{"data":{"RemovalBudget":%q}}`, value))
		}
		s.Cleanup(func() {
			s.afterwards(newThing(configMaps, systemNamespace, "config-features"), `{"data":{"RemovalBudget":null}}`)
		})
		p, all := s.more()
		gate("all")
		pause(s.Context(), quiet)
		before := s.uidsOf(all, "member1")
		s.Apply(p.To("member2", "member3"))
		s.removalHeld("member1", "True", "approve member1")
		s.listed(len(all), "member1")
		s.allIn(all, members...)
		s.theSame(all, "member1", before)
		gate("off")
		s.allIn(all, "member2", "member3")
		s.removalHeld("member1", "False")
	})
}

// Z12: a Work that somebody deletes while the removal is held takes nothing along.
func TestZ12WorkDeletedWhileHeld(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		_, all := s.more()
		before := s.uidsOf(all, "member1")
		s.labelCluster("member1", false)
		s.removalHeld("member1", "True")
		s.listed(len(all), "member1")
		work := s.Expect(all[0]).work("member1")
		if work == nil {
			s.Fatal(errors.New("there is no Work"))
		}
		if err := s.lab.hub.on(works, work.GetNamespace()).Delete(s.Context(), work.GetName(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Eventually(func() error {
			if now := s.Expect(all[0]).work("member1"); now == nil || now.GetUID() == work.GetUID() {
				return errors.New("the Work was not made anew")
			}
			return nil
		})
		s.Settle()
		s.theSame(all, "member1", before)
	})
}

// Z12: who deletes the bindings while removals are held takes nothing along. What
// leaves the cluster out by name, then, is asked for, and passes.
func TestZ12BindingsDeletedWhileHeld(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, all := s.more()
		before := s.uidsOf(all, "member1")
		s.labelCluster("member1", false)
		s.removalHeld("member1", "True")
		s.listed(len(all), "member1")
		former := map[string]types.UID{}
		for _, t := range all {
			b := s.Expect(t).binding()
			former[b.GetName()] = b.GetUID()
		}
		for name := range former {
			if err := s.lab.hub.on(bindings, s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		for _, t := range all {
			s.Eventually(func() error {
				if b := s.Expect(t).binding(); b == nil || former[b.GetName()] == b.GetUID() {
					return errors.New("the binding was not made anew")
				}
				return nil
			})
		}
		s.listed(len(all), "member1")
		s.removalHeld("member1", "True")
		s.Settle()
		s.allIn(all, "member1", "member2")
		s.theSame(all, "member1", before)

		s.Apply(p.To("member2"))
		s.allIn(all, "member2")
		s.removalHeld("member1", "False")
	})
}
