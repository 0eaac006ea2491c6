// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// What runs stays: people's mistakes on the hub and in members take nothing away,
// restart nothing, and what they damaged comes back by itself.

// Untouched does something that must not write to anything in the members.
func (s *scenario) Untouched(do func()) {
	s.Helper()
	s.canary()
	s.unwritten(do)
}

// unwritten is Untouched of what must not share its namespace with a canary.
func (s *scenario) unwritten(do func()) {
	s.Helper()
	s.Rest()
	mark := s.mark()
	do()
	s.Settle()
	for _, c := range s.writesSince(mark) {
		if c.cluster != "hub" {
			s.Errorf("a write that must not be: %s", c)
		}
	}
}

// goesOn checks that the objects in the members are those that they were, and that
// the template's next change reaches them.
func (s *scenario) goesOn(t template, next int64, before []string, in ...string) {
	s.Helper()
	s.same(t, before, in...)
	s.Apply(t.At(next))
	s.Expect(t).At(next, in...)
	s.same(t, before, in...)
}

// workAnew waits until the Work for a member is another than it was, and applied.
func (s *scenario) workAnew(t template, member, was string) {
	s.Helper()
	s.Expect(t).Work(member, func(w map[string]any) error {
		if uid := text(w, "metadata.uid"); uid == was {
			return errors.New("the Work is the old one")
		}
		return isCondition("Applied", "True")(w)
	})
}

func TestZ3WorkDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member2", isCondition("Applied", "True"))
		before := s.uids(nginx, members...)
		for _, finalizers := range []string{"", `{"metadata":{"finalizers":null}}`} {
			was := s.Expect(nginx).work("member2")
			s.Untouched(func() {
				w := asThing(works, was)
				if finalizers != "" {
					s.Patch(w, finalizers)
				}
				s.forget("hub", w)
				s.workAnew(nginx, "member2", string(was.GetUID()))
			})
		}
		s.goesOn(nginx, 2, before, members...)
	})
}

func TestZ3WorkEdited(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member2", isCondition("Applied", "True"))
		before, w := s.uids(nginx, members...), asThing(works, s.Expect(nginx).work("member2"))
		for what, manifests := range map[string]string{
			"emptied": "[]", "edited": "[" + asJSON(nginx.At(9).body) + "]", "somebody else's": "[" + asJSON(s.takeover().body) + "]",
		} {
			s.Untouched(func() {
				s.Patch(w, `{"spec":{"workload":{"manifests":`+manifests+`}}}`)
				s.Expect(nginx).Work("member2", hasContent(nginx.resource, 1)).Work("member2", isCondition("Applied", "True"))
			})
			if s.Failed() {
				s.Fatalf("the Work was %s", what)
			}
		}
		s.Untouched(func() {
			s.Patch(w, `{"metadata":{"labels":null,"annotations":null}}`)
			s.Expect(nginx).Work("member2", func(o map[string]any) error {
				if annotation(o, "sluice.dev/template") == "" {
					return errors.New("it does not say whose it is")
				}
				return nil
			})
		})
		s.Expect(s.takeover()).In()
		s.goesOn(nginx, 2, before, members...)
	})
}

// The marks by which a member's object is known.
func TestZ5MarksTakenOff(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		spec := asJSON(s.LiveIn("member2", nginx).Object["spec"])
		for what, patch := range map[string]string{
			"label":          `{"metadata":{"labels":{"sluice.dev/work":null}}}`,
			"labels":         `{"metadata":{"labels":null}}`,
			"annotations":    `{"metadata":{"annotations":null}}`,
			"managed fields": `{"metadata":{"managedFields":[{}]}}`,
			"all":            `{"metadata":{"labels":null,"annotations":null,"managedFields":[{}]}}`,
		} {
			s.PatchIn("member2", nginx, patch)
			if err := s.within(timeout, func() error { return s.marked(nginx, "member2") }); err != nil {
				s.Fatalf("%s taken off: %v", what, err)
			}
			s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		}
		if now := asJSON(s.LiveIn("member2", nginx).Object["spec"]); now != spec {
			s.Errorf("what it says was %s and is %s", spec, now)
		}
		s.goesOn(nginx, 2, before, members...)
	})
}

// marked tells what a member's object lacks of what Sluice knows it by.
func (s *scenario) marked(t template, member string) error {
	o, err := s.lab.clusters[member].on(t.resource, t.namespace()).Get(s.Context(), t.name(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	ours := func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "sluice" && f.Operation == metav1.ManagedFieldsOperationApply
	}
	switch {
	case o.GetLabels()["sluice.dev/work"] == "":
		return errors.New("the object has lost the label")
	case o.GetAnnotations()["sluice.dev/hub"] == "" || o.GetAnnotations()["sluice.dev/manifest-hash"] == "":
		return errors.New("the object has lost the annotations")
	case !slices.ContainsFunc(o.GetManagedFields(), ours):
		return errors.New("the object has lost the managed fields")
	}
	return nil
}

// Nobody hears that the marks go.
func TestZ5MarksTakenOffWhileAway(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		s.whileAway(func() {
			s.PatchIn("member2", nginx, `{"metadata":{"labels":null,"annotations":null,"managedFields":[{}]}}`)
		})
		s.Eventually(func() error { return s.marked(nginx, "member2") })
		s.goesOn(nginx, 2, before, members...)
	})
}

// The namespace of a member's Works.
func TestZ10NamespaceOfWorksDeleted(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member1", isCondition("Applied", "True"))
		s.Rest()
		before, mark := s.uids(nginx, members...), s.mark()
		was, room := string(s.Expect(nginx).work("member1").GetUID()), newThing(namespaces, "", "karmada-es-member1")
		s.party.together(func() { s.forget("hub", room) })
		s.workAnew(nginx, "member1", was)
		s.Settle()
		for _, c := range s.writesSince(mark) {
			if c.cluster != "hub" {
				s.Errorf("a write that must not be: %s", c)
			}
		}
		s.goesOn(nginx, 2, before, members...)
	})
}

// Somebody copied a Work by hand, finalizer and all. It says whose it is, and has not the
// name of a Work of that: nobody can tell what it is for, and nobody waits for it.
func TestZ10ACopyOfAWorkHoldsUpNobody(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member1", isCondition("Applied", "True"))
		s.Rest()
		before, w := s.uids(nginx, members...), s.Expect(nginx).work("member1")
		copied := newThing(works, w.GetNamespace(), "copy").with("spec", w.Object["spec"])
		for _, field := range []string{"labels", "annotations", "finalizers"} {
			copied = copied.with("metadata."+field, w.Object["metadata"].(map[string]any)[field])
		}
		s.party.together(func() {
			s.Apply(copied)
			s.forget("hub", newThing(namespaces, "", w.GetNamespace()))
		})
		s.Eventually(func() error {
			if s.lab.hub.mirror(works).get(copied.key()) != nil {
				return errors.New("the copy is still there")
			}
			return nil
		})
		s.workAnew(nginx, "member1", string(w.GetUID()))
		s.goesOn(nginx, 2, before, members...)
	})
}

// A member that is away when its template is made anew has the object of the
// former, which the new one takes over.
func TestZ18TemplateMadeAnewWhileTheMemberIsAway(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		before := s.uids(nginx, "member2")
		s.Stop("member2")
		s.Delete(nginx)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member3")
		s.Start("member2")
		s.Expect(nginx).At(2, members...).In(members...).Work("member2", isCondition("Applied", "True"))
		s.goesOn(nginx, 3, before, "member2")
	})
}

// Nobody hears that the former went: the new one takes over what is there.
func TestZ18TemplateMadeAnewWhileAway(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		before := s.uids(nginx, members...)
		s.whileAway(func() {
			s.Delete(nginx)
			s.Apply(nginx.At(2))
		})
		s.Expect(nginx).At(2, members...).In(members...)
		s.goesOn(nginx, 3, before, members...)
	})
}

// What the former said of its end holds, though the new one is nobody's.
func TestZ18PreservedThoughMadeAnew(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll().set("spec.preserveResourcesOnDeletion", true), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In(members...)
		s.Rest()
		before := s.uids(nginx, members...)
		for _, m := range members {
			s.Cleanup(func() { s.forget(m, nginx.thing) })
		}
		s.Stop("member2")
		s.Delete(p)
		s.Delete(nginx)
		s.Apply(nginx.At(2))
		s.Start("member2")
		s.Expect(nginx).Works().NoBinding()
		s.Settle()
		s.Expect(nginx).In(members...).At(1, members...)
		s.same(nginx, before, members...)
	})
}

// Whatever a Cluster says of itself, its Works stay.
func TestZ23ReadyFlaps(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member3", isCondition("Applied", "True"))
		before, was := s.uids(nginx, members...), string(s.Expect(nginx).work("member3").GetUID())
		cluster := newThing(clusters, "", "member3")
		s.Untouched(func() {
			for _, status := range []string{`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Flaps","message":"x","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, `{"status":{"conditions":null}}`} {
				s.PatchAs("somebody", cluster, status, "status")
				s.Expect(cluster).Template(isCondition("Ready", "True"))
			}
		})
		if is := s.Expect(nginx).work("member3"); is == nil || string(is.GetUID()) != was {
			s.Errorf("the Work for member3 is not the one that it was: %v", is)
		}
		s.goesOn(nginx, 2, before, members...)
	})
}

// A dependency that is deleted and made anew at once.
func TestZ24DependencyMadeAnew(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, "member1", "member2"), nginx)
		s.Expect(config).In("member1", "member2")
		s.Rest()
		before := s.uids(config, "member1", "member2")
		s.Delete(config)
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member1", "member2").In("member1", "member2")
		s.Settle()
		for _, m := range []string{"member1", "member2"} {
			for _, c := range s.lab.clusters[m].mirror(configMaps).since(s.ns, 0) {
				if c.kind == watch.Deleted && c.after.GetName() == "config" {
					s.Errorf("there was a gap: %s", c)
				}
			}
		}
		s.goesOn(config, 3, before, "member1", "member2")
	})
}

// A person takes a moment for it: the deletion has gone all the way to the Works.
func TestZ24DependencyMadeAnewAfterAMoment(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx").Using("config"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, "member1", "member2"), nginx)
		s.Expect(config).In("member1", "member2")
		s.Rest()
		before := s.uids(config, "member1", "member2")
		s.Delete(config)
		for _, m := range []string{"member1", "member2"} {
			s.Eventually(func() error {
				if w := s.Expect(config).work(m); w != nil && w.GetDeletionTimestamp() == nil {
					return errors.New("the Work is as it was")
				}
				return nil
			})
		}
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member1", "member2").In("member1", "member2")
		s.goesOn(config, 3, before, "member1", "member2")
		s.Delete(config)
		s.Expect(config).Nowhere()
	})
}

// A scheduler of somebody else's has the binding, whatever happens.
func TestZ25AnothersScheduler(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		p := s.Policy("pp").set("spec.schedulerName", "somebody-else")
		s.Apply(p, nginx)
		s.Expect(nginx).Binding(func(b map[string]any) error {
			if got := text(b, "spec.schedulerName"); got != "somebody-else" {
				return fmt.Errorf("the binding's scheduler is %q", got)
			}
			return nil
		})
		b := asThing(bindings, s.Expect(nginx).binding())
		if nginx.clusterScoped {
			b = asThing(clusterBindings, s.Expect(nginx).binding())
		}
		s.PatchAs("somebody-else", b, `{"spec":{"clusters":[{"name":"member3"}]}}`)
		s.Expect(nginx).In("member3")
		for range 2 {
			s.Touch(nginx)
			s.Apply(p.To("member1"), p.To("member2"))
		}
		s.Settle()
		s.Expect(nginx).In("member3").NeverIn("member1").NeverIn("member2")
	})
}

// anothersHub marks an object in a member as another hub's, which has made it, or
// has taken it over.
const anothersHub = "0f0f0f0f-0000-4000-8000-000000000000"

// Two hubs with one member.
func TestZ26AnotherHubsObject(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		theirs := template{nginx.At(9).Label("sluice.dev/work", "nginx-of-another-hub").mark("annotations", "sluice.dev/hub", anothersHub)}
		if !nginx.clusterScoped {
			s.ApplyIn("member2", newThing(namespaces, "", s.ns))
		}
		s.ApplyIn("member2", theirs.thing)
		s.Cleanup(func() { s.forget("member2", nginx.thing) })
		s.Expect(nginx).At(9, "member2")
		before := s.uids(nginx, "member2")
		s.Unwritten(nginx, "member2", func() {
			s.Apply(s.Policy("pp").toAll(), nginx)
			s.Expect(nginx).At(1, "member1", "member3").Work("member2", isCondition("Applied", "False", anothersHub))
			s.Apply(nginx.At(2))
			s.Expect(nginx).At(2, "member1", "member3")
			s.Delete(nginx)
			s.Expect(nginx).Works().In("member2")
		})
		s.same(nginx, before, "member2")
	})
}

// What another hub has taken over is not taken back.
func TestZ26TakenOverByAnotherHub(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		before := s.uids(nginx, "member2")
		s.Cleanup(func() { s.forget("member2", nginx.thing) })
		s.PatchIn("member2", nginx, asJSON(map[string]any{"metadata": map[string]any{
			"labels": map[string]any{"sluice.dev/work": "theirs"}, "annotations": map[string]any{"sluice.dev/hub": anothersHub},
		}}))
		s.Unwritten(nginx, "member2", func() {
			s.Expect(nginx).Work("member2", isCondition("Applied", "False", anothersHub))
			s.Apply(nginx.At(2))
			s.Expect(nginx).At(2, "member1", "member3")
			s.Delete(nginx)
			s.Expect(nginx).Works().In("member2")
		})
		s.same(nginx, before, "member2")
	})
}

// Unwritten does something that must not write to the object in a member.
func (s *scenario) Unwritten(t template, member string, do func()) {
	s.Helper()
	s.canary()
	s.Rest()
	m := s.lab.clusters[member].mirror(t.resource)
	mark := len(m.since(s.ns, 0))
	do()
	s.Settle()
	for _, c := range m.since(s.ns, mark) {
		if keyOf(c.after) == t.key() && !c.ownStatus() {
			s.Errorf("a write that must not be: %s", c)
		}
	}
}
