// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A careless administrator on the hub.

// Replace puts an object in the place of what is there, as kubectl replace does:
// what is not in the file goes, labels and annotations as well.
func (s *scenario) Replace(a applied) {
	s.Helper()
	o := a.itself()
	s.Eventually(func() error { // somebody else may write it at that moment
		file := o.object()
		file.SetResourceVersion(s.Live(o).GetResourceVersion())
		_, err := s.lab.hub.on(o.resource, o.namespace()).Update(s.Context(), file, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
		return err
	})
}

// The claim is restored: nobody else takes the template, and no suspension ends.
func TestZ9TemplateReplaced(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p)
		s.Apply(p.SuspendedOn("member2"), s.Policy("a-better").Priority(9).To("member3"))
		s.Expect(nginx).Work("member2", isSuspended)
		s.Rest()
		before := s.uids(nginx, members...)
		s.Unwritten(nginx, "member2", func() {
			s.Replace(nginx)
			s.Expect(nginx).ClaimedBy(p).In(members...)
			s.Replace(nginx.At(2))
			s.Expect(nginx).ClaimedBy(p).At(2, "member1", "member3")
		})
		s.Apply(p)
		s.Expect(nginx).At(2, members...)
		s.same(nginx, before, members...)
	})
}

// Policies that go and come back from their files move nothing.
func TestZ2PolicyDeletedAndMadeAgain(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p)
		s.Rest()
		before := s.uids(nginx, members...)
		s.Untouched(func() {
			s.Delete(p)
			s.Expect(nginx).Unclaimed()
			s.Apply(p)
			s.Expect(nginx).ClaimedBy(p)
		})
		s.goesOn(nginx, 2, before, members...)
	})
}

// What a binding says is Sluice's; who edits it sees it put right.
func TestZ4BindingEdited(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		b := s.bindingOf(nginx)
		for _, patch := range []string{
			`{"spec":{"clusters":null}}`,
			`{"spec":{"clusters":[{"name":"member2"}]}}`,
			`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member3"]}}}}`,
			`{"metadata":{"labels":null,"annotations":null}}`,
			`{"metadata":{"ownerReferences":null,"finalizers":null}}`,
			`{"spec":{"resource":{"name":"another"}}}`,
		} {
			s.Untouched(func() {
				s.Patch(b, patch)
				s.Expect(nginx).ClaimedBy(p).Binding(func(b map[string]any) error {
					if name := text(b, "spec.resource.name"); name != nginx.name() {
						return fmt.Errorf("the binding names %s", name)
					}
					if annotation(b, "sluice.dev/revision") == "" {
						return errors.New("the binding does not say what is in force")
					}
					return differs("the number of clusters", len(items(b, "spec.clusters")), len(members))
				})
			})
			if s.Failed() {
				s.Fatalf("the binding was edited: %s", patch)
			}
		}
		s.goesOn(nginx, 2, before, members...)
	})
}

// A copy of a Work, made under another name and deleted again, is of no account.
func TestZ3WorkCopied(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		before, original := s.uids(nginx, members...), s.Expect(nginx).work("member2")
		s.Untouched(func() {
			copied := s.copies(original, original.GetNamespace(), "copy-of-"+s.ns)
			s.canary()
			s.forget("hub", copied)
			s.canary()
			if live, err := s.lab.hub.on(works, copied.namespace()).Get(s.Context(), copied.name(), metav1.GetOptions{}); err == nil && len(live.GetFinalizers()) > 0 {
				s.Patch(copied, `{"metadata":{"finalizers":null}}`)
			}
		})
		s.goesOn(nginx, 2, before, members...)
	})
}

// Whose a Work is does not depend on one word that somebody edits: the Work is put right,
// it is made again where it is deleted, and it goes with its template.
func TestZ3WorkThatNamesAnotherBinding(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		before := s.uids(nginx, members...)
		w := asThing(works, s.Expect(nginx).work("member2"))
		key := "resourcebinding.karmada.io/name"
		if nginx.namespace() == "" {
			key = "cluster" + key
		}
		name := annotation(s.Live(w).Object, key)
		if name == "" {
			s.Fatalf("the Work names no binding under %s", key)
		}
		edit := fmt.Sprintf(`{"metadata":{"annotations":{%q:"another"}}}`, key)
		s.Untouched(func() {
			s.Patch(w, edit)
			s.Settle()
			s.Eventually(func() error { return differs("its binding", annotation(s.Live(w).Object, key), name) })
			was := string(s.Live(w).GetUID())
			s.Patch(w, edit)
			s.forget("hub", w)
			s.workAnew(nginx, "member2", was)
		})
		s.goesOn(nginx, 2, before, members...)
		s.Patch(w, edit)
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().Works()
	})
}

// A Cluster that is deleted, not unjoined, and joined again.
func TestZ11ClusterDeletedAndJoinedAgain(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member3", isCondition("Applied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		s.party.together(func() {
			s.Delete(newThing(clusters, "", "member3"))
			s.joins("member3")
		})
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
		s.Expect(nginx).Works(members...).Work("member3", isCondition("Applied", "True"))
		s.goesOn(nginx, 2, before, members...)
	})
}

// doubled gives member1 a second Cluster of the name "double", and returns when it has its
// identity; undo unjoins it.
func (s *scenario) doubled() (undo func()) {
	s.Helper()
	secret := newThing(secrets, systemNamespace, "double")
	s.own(secret)
	s.Apply(secret.with("data", s.Live(newThing(secrets, systemNamespace, "member1")).Object["data"]))
	first, double := s.Live(newThing(clusters, "", "member1")), newThing(clusters, "", "double")
	s.Apply(double.with("spec", map[string]any{
		"syncMode": "Push", "apiEndpoint": text(first.Object, "spec.apiEndpoint"),
		"secretRef": map[string]any{"namespace": systemNamespace, "name": "double"},
	}))
	s.Eventually(func() error {
		if is, want := text(s.Live(double).Object, "spec.id"), text(first.Object, "spec.id"); is != want || is == "" {
			return fmt.Errorf("it says that it is %q, want %q", is, want)
		}
		return nil
	})
	return func() {
		if out, err := s.Sluice("unjoin", "double"); err != nil {
			s.Errorf("unjoin: %v\n%s", err, out)
		}
	}
}

// A member has a second Cluster, made by hand and without an identity: leaving one of its
// names out takes nothing away, as long as the other is chosen.
func TestZ1TwoNamesOfOneMember(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Deployment("nginx")
		p := s.Policy("pp").Selecting(nginx)
		s.Apply(p.To("member1"), nginx)
		s.Expect(nginx).In("member1").Work("member1", isCondition("Applied", "True"))
		s.Rest()
		before := s.uids(nginx, "member1")
		defer s.doubled()()
		for _, names := range [][]string{{"member1", "double"}, {"member1"}, {"member1", "double"}, {"double"}, {"member1"}} {
			s.Apply(p.To(names...))
			s.Eventually(func() error {
				for _, name := range []string{"member1", "double"} {
					if has := s.Expect(nginx).work(name) != nil; has != slices.Contains(names, name) {
						return fmt.Errorf("there is a Work for %s: %t, want those for %v", name, has, names)
					}
				}
				return nil
			})
			s.Settle()
			s.same(nginx, before, "member1")
		}
		s.Expect(nginx).Work("member1", isCondition("Applied", "True"))
	})
}

// What the gates' ConfigMap says that nobody understands switches nothing, and is told.
func TestGatesGarbled(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		_, nginx := s.spread()
		before, features := s.uids(nginx, members...), newThing(configMaps, systemNamespace, "config-features")
		s.Unchanged(func() {
			s.Patch(features, `{"data":{"StaticPolicy":"perhaps","PropagationPolicyPreemption":"yes please","RemovalBudget":"none","x":"y"}}`)
			s.canary()
			s.Told(features, "Warning", "GateNotUnderstood", "StaticPolicy", `"perhaps"`, `"x" is no gate`, `RemovalBudget is "none"`)
			s.forget("hub", features)
		})
		s.Switch(gatesOff)
		s.goesOn(nginx, 2, before, members...)
	})
}

// The gates' ConfigMap deleted while a change waits: nothing moves, and it is told; made
// anew it counts again.
func TestZ12GatesDeleted(t *testing.T) {
	alone(t, static, []form{pp}, func(s *scenario) {
		p, nginx := s.spread()
		features := newThing(configMaps, systemNamespace, "config-features")
		s.Unchanged(func() {
			s.Apply(p.To("member2"))
			s.Expect(nginx).Binding(isCondition("Active", "False", "StaticPolicyWaitsForTemplate"))
			s.forget("hub", features)
			s.Told(features, "Warning", "GateNotUnderstood", "config-features is missing", "kubectl apply -f")
			s.canary()
			s.explains("config-features is missing", nginx.resource.plural+"/"+nginx.name())
		})
		s.Unchanged(func() { s.Switch(static) })
		s.Switch(gatesOff)
		s.Expect(nginx).In("member2")
	})
}

// One wrong letter in the name of a cluster takes nothing from another: nothing moves
// until it is corrected, or taken out.
func TestZ2ClusterNameThatIsNotThere(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p)
		s.Rest()
		before, wrong := s.uids(nginx, members...), p.To("member1", "membr2", "member3")
		words := []string{"Unschedulable", "membr2", "would take the template from member2"}
		s.Untouched(func() {
			s.Apply(wrong)
			s.Expect(nginx).Binding(isCondition("Scheduled", "False", words...))
		})
		s.explains(words[2], nginx.resource.plural+"/"+nginx.name())
		s.goesOn(nginx, 2, before, members...)
		s.Apply(p.To("member1", "member3"))
		s.Expect(nginx).In("member1", "member3").Binding(isCondition("Scheduled", "True"))
		s.same(nginx, []string{before[0], before[2]}, "member1", "member3")
	})
}

// One wrong word in a placement takes nothing away: it is refused with that word, and
// what it placed goes on when it is corrected.
func TestZ2PlacementOfANameThatIsNotThere(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Deployment("nginx")
		p := s.everywhere()
		s.Apply(nginx, p)
		s.Says(p, carried...)
		s.Rest()
		before := s.uids(nginx, members...)
		s.Apply(p.with("spec.resourceSelectors", []any{selector(namespaces, s.ns+"s")}))
		status := s.Says(p, "Scheduled InvalidResourceSelectors False")
		for _, c := range items(status, "conditions") {
			if m := text(c, "message"); !strings.Contains(m, s.ns+"s is selected and not there") || !strings.Contains(m, "Namespace "+s.ns+", which is there") {
				s.Errorf("the placement says %q", m)
			}
		}
		if out, err := s.Sluice("explain", "crp/"+p.name()); err != nil || !strings.Contains(out, "is selected and not there") {
			s.Errorf("explain: %v\n%s", err, out)
		}
		s.same(nginx, before, members...)
		s.Apply(p)
		s.Says(p, carried...)
		s.goesOn(nginx, 2, before, members...)
	})
}

// A label that nothing has takes nothing away either; an object that its owner
// relabels leaves.
func TestC4Z2PlacementByALabelThatNothingHas(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := "e2e-" + s.ns
		label := func(value string) {
			s.Patch(newThing(namespaces, "", s.ns), fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
		}
		by := func(value string) thing {
			sel := selector(namespaces, "")
			sel["labelSelector"] = map[string]any{"matchLabels": map[string]any{key: value}}
			return s.everywhere().with("spec.resourceSelectors", []any{sel})
		}
		label("nginx")
		nginx, p := s.Deployment("nginx"), by("nginx")
		s.Apply(nginx, p)
		s.Says(p, carried...)
		s.Rest()
		before := s.uids(nginx, members...)
		s.Apply(by("ngnix"))
		s.Says(p, "Scheduled InvalidResourceSelectors False")
		if out, err := s.Sluice("explain", "crp/"+p.name()); err != nil || !strings.Contains(out, "Namespace with "+key+"=ngnix is selected and not there") {
			s.Errorf("explain: %v\n%s", err, out)
		}
		s.same(nginx, before, members...)
		s.Apply(p)
		s.Says(p, carried...)
		s.goesOn(nginx, 2, before, members...)
		label("other")
		s.Expect(nginx).Nowhere()
	})
}

// Whoever puts one member's credentials into another's Secret has nothing run where it
// was not to: the cluster says whose they are, and goes on when they are corrected.
func TestSecretsOfMembersMixedUp(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx, away := s.Deployment("nginx"), newThing(clusters, "", "member2")
		s.Apply(s.Policy("pp").To("member1", "member2"), nginx)
		s.Expect(nginx).In("member1", "member2")
		s.Rest()
		before := s.uids(nginx, "member1", "member2")
		right := s.Live(newThing(secrets, systemNamespace, "member2")).Object["data"]
		wrong := s.Live(newThing(secrets, systemNamespace, "member3")).Object["data"]
		give := func(data any) {
			patch, err := json.Marshal(map[string]any{"data": data})
			if err != nil {
				s.Fatal(err)
			}
			s.Patch(newThing(secrets, systemNamespace, "member2"), string(patch))
		}
		give(wrong)
		defer give(right)
		s.Expect(away).Template(func(o map[string]any) error {
			c := conditionOf(o, "Ready")
			if text(c, "status") != "False" || !strings.Contains(text(c, "message"), "its credentials lead to another cluster") {
				return fmt.Errorf("Ready is %s: %s", text(c, "status"), text(c, "message"))
			}
			return nil
		})
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1").Work("member2", isCondition("Applied", "False"))
		s.Expect(nginx).In("member1", "member2") // and not in member3
		give(right)
		s.Expect(away).Template(isCondition("Ready", "True"))
		s.Expect(nginx).At(2, "member1", "member2")
		s.same(nginx, before, "member1", "member2")
	})
}

// A member that somebody gives a second name, by a Cluster that says the same spec.id,
// keeps what it has where the policy names it by the new name, and by the old one again.
func TestMemberOfTwoNames(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp").To("member1", "member3"), nginx)
		s.Expect(nginx).In("member1", "member3")
		s.Rest()
		before := s.uids(nginx, "member3")
		second := s.Live(newThing(clusters, "", "member3"))
		second.SetName(s.unique("second"))
		second.SetUID("")
		second.SetResourceVersion("")
		second.SetFinalizers(nil)
		name, on := second.GetName(), s.lab.hub.on(clusters, "")
		s.party.together(func() {
			if _, err := on.Create(s.Context(), second, metav1.CreateOptions{}); err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() { _ = on.Delete(s.background(), name, metav1.DeleteOptions{}) })
			s.Apply(s.Policy("pp").To("member1", name))
			s.Expect(nginx).Works("member1").Work(name, isCondition("Applied", "True"))
			s.Apply(nginx.At(2))
			s.Expect(nginx).At(2, "member1", "member3")
			s.same(nginx, before, "member3")
			s.Apply(s.Policy("pp").To("member1", "member3"))
			s.Expect(nginx).Works("member1", "member3").Work("member3", isCondition("Applied", "True"))
			s.Eventually(func() error {
				if w := s.Expect(nginx).work(name); w != nil {
					return fmt.Errorf("%s has the Work %s", name, w.GetName())
				}
				return nil
			})
			s.goesOn(nginx, 3, before, "member3")
			if err := on.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		})
	})
}

// What is removed and stays in a member, because somebody there keeps it, is told: of a
// template that leaves the member out, and of one that is gone.
func TestExplainSaysWhatHoldsARemovalUp(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).Work("member1", isCondition("Applied", "True"))
		s.Rest()
		s.Cleanup(func() { s.unfinalize("member1", nginx) })
		s.PatchIn("member1", nginx, `{"metadata":{"finalizers":["example.org/theirs"]}}`)
		s.Apply(p.To("member2", "member3"))
		s.Expect(nginx).Work("member1", isCondition("Applied", "False", "ObjectTerminating"))
		of := nginx.resource.plural + "/" + nginx.name()
		s.explains("ObjectTerminating", of)
		s.Delete(nginx)
		s.Expect(nginx).Works("member1")
		s.explains("it does not exist on the hub", of)
		s.explains("ObjectTerminating", of)
		s.unfinalize("member1", nginx)
		s.Expect(nginx).Nowhere().Works()
		if out, err := s.Sluice("explain", of); err == nil || !strings.Contains(out, "not found") {
			s.Errorf("explain of what is gone everywhere: %v\n%s", err, out)
		}
	})
}

// While the definition of Works or of bindings is missing, explain says that members
// keep what they have, and what to do.
func TestZ11ExplainWithoutADefinition(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before := s.uids(nginx, members...)
		for _, r := range []resource{works, bindings} {
			s.undefine(r)
			out, err := s.Sluice("explain", nginx.resource.plural+"/"+nginx.name())
			s.install(s.crd(r))
			if err == nil || !strings.Contains(out, "members keep what they have") || !strings.Contains(out, "kubectl apply -f config/300-crds") {
				s.Errorf("without the definition of %s, explain says: %v\n%s", r.plural, err, out)
			}
			s.Expect(nginx).Works(members...)
		}
		s.goesOn(nginx, 2, before, members...)
	})
}
