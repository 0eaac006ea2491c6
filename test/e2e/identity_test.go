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

// Who an object is: its group, kind, namespace, name and uid. A version is how it
// is read.

// selectingAs selects by name, in another version and spelling of its kind.
func (p policy) selectingAs(t template, apiVersion, kind string) policy {
	sel := p.selector(t)
	sel["name"], sel["apiVersion"], sel["kind"] = t.name(), apiVersion, kind
	return p.set("spec.resourceSelectors", []any{sel})
}

// saysKindNotServed waits until the policy's status says so.
func (s *scenario) saysKindNotServed(p policy) {
	s.Helper()
	s.Eventually(func() error { return isCondition("KindsServed", "False", "does not serve")(s.Live(p).Object) })
}

// explains checks that explain says the word of a thing.
func (s *scenario) explains(word, of string) {
	s.Helper()
	if out, err := s.Sluice("explain", of); err != nil || !strings.Contains(out, word) {
		s.Errorf("explain %s does not say %s: %v\n%s", of, word, err, out)
	}
}

// uids are those of the template's objects in the members.
func (s *scenario) uids(t template, in ...string) []string {
	var all []string
	for _, m := range in {
		all = append(all, string(s.LiveIn(m, t).GetUID()))
	}
	return all
}

// same fails where the objects in the members are others than they were.
func (s *scenario) same(t template, before []string, in ...string) {
	s.Helper()
	if after := s.uids(t, in...); fmt.Sprint(after) != fmt.Sprint(before) {
		s.Errorf("the objects of %s are others: %v, were %v", t, after, before)
	}
}

func TestZ1KindNotServed(t *testing.T) {
	each(t, preemption, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp").To(members...), nginx)
		s.Expect(nginx).In(members...)
		before := s.uids(nginx, members...)
		for i, as := range [][2]string{{"apps/v9", "Deployment"}, {"apps/v1", "deployment"}, {"nowhere.example.org/v1", "Deployment"}} {
			p := s.Policy(fmt.Sprintf("bad-%d", i)).selectingAs(nginx, as[0], as[1]).To("member1")
			if !s.clusterPolicy { // of a cluster policy with it, the webhook asks for a kind that is served
				p = p.Always().Priority(100)
			}
			s.Unchanged(func() { s.Apply(p); s.saysKindNotServed(p) })
			if i == 0 { // the others name no kind of the template's
				s.explains("KindNotServed", "deployment/nginx")
			}
			if s.clusterPolicy {
				s.explains("KindNotServed", "cpp/"+p.name())
			} else {
				s.explains("KindNotServed", "pp/"+p.name())
			}
			s.Unchanged(func() { s.Delete(p) })
		}
		s.same(nginx, before, members...)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, members...)
	})
}

func TestZ2PolicyEditedIntoUnknownKind(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx")
		pp := s.Policy("pp").To("member1", "member2")
		s.Apply(pp, nginx)
		s.Expect(nginx).In("member1", "member2").ClaimedBy(pp)
		before := s.uids(nginx, "member1", "member2")
		edited := pp.selectingAs(nginx, "apps/v9", "Deployment")
		s.Apply(edited)
		s.saysKindNotServed(edited)
		s.Expect(nginx).Unclaimed()
		s.Settle()
		s.same(nginx, before, "member1", "member2")
		s.Apply(pp.Selecting(nginx))
		s.Expect(nginx).ClaimedBy(pp)
	})
}

func TestZ8PolicyForUnknownKind(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp"), nginx)
		s.Expect(nginx).In("member1")
		all := s.Policy("all").set("spec.resourceSelectors", []any{map[string]any{"apiVersion": "apps/v9", "kind": "Deployment"}})
		s.Unchanged(func() { s.Apply(all); s.saysKindNotServed(all) })
		s.Unchanged(func() { s.Delete(all) })
	})
}

// versions is the definition with these versions, the last one stored.
func (c thing) versions(names ...string) thing {
	version := c.body["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	var all []any
	for i, name := range names {
		v := map[string]any{}
		for key, value := range version {
			v[key] = value
		}
		v["name"], v["storage"] = name, i == len(names)-1
		all = append(all, v)
	}
	return c.with("spec.versions", all)
}

// unserved is the definition with its first version not served any more.
func (c thing) unserved() thing {
	all := append([]any{}, c.body["spec"].(map[string]any)["versions"].([]any)...)
	first := map[string]any{}
	for key, value := range all[0].(map[string]any) {
		first[key] = value
	}
	first["served"] = false
	all[0] = first
	return c.with("spec.versions", all)
}

func TestZ7Z15TwoVersionsOfOneKind(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		s.define(crd.versions("v1beta1", "v1"), append([]string{"hub"}, members...)...)
		w := template{newThing(v1, s.ns, "one")}.At(1)
		a := s.Policy("a").selectingAs(w, v1.group+"/v1beta1", "Widget").To("member1")
		b := s.Policy("b").selectingAs(w, v1.group+"/v1", "Widget").To("member2")
		s.Apply(a, w)
		s.Expect(w).In("member1").ClaimedBy(a)
		s.Unchanged(func() { s.Apply(b) })
		s.Expect(w).In("member1").ClaimedBy(a)
		s.Apply(w.At(2))
		s.Expect(w).At(2, "member1")
		s.Unchanged(func() {})
	})
}

func TestZ14VersionGoes(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		both := crd.versions("v1beta1", "v1")
		s.define(both, append([]string{"hub"}, members...)...)
		w := template{newThing(v1, s.ns, "one")}.At(1)
		p := s.Policy("pp").selectingAs(w, v1.group+"/v1beta1", "Widget").To("member1", "member2")
		s.Apply(p, w)
		s.Expect(w).In("member1", "member2").ClaimedBy(p)
		before := s.uids(w, "member1", "member2")
		s.Unchanged(func() {
			if err := s.apply(s.lab.hub, both.unserved()); err != nil {
				s.Fatal(err)
			}
			s.saysKindNotServed(p)
		})
		s.Expect(w).ClaimedBy(p)
		s.Unchanged(func() { s.Apply(p.set("spec.priority", int64(3))) })
		s.Expect(w).ClaimedBy(p)
		s.Apply(w.At(2))
		s.Expect(w).At(2, "member1", "member2")
		for _, m := range []string{"member1", "member2"} { // what the members have is told in the words of v1 by now
			s.Expect(w).Work(m, func(o map[string]any) error {
				if told := asJSON(o["status"]); strings.Contains(told, `"v1beta1"`) {
					return errors.New(told)
				}
				return nil
			})
		}
		s.Unchanged(func() { s.Apply(p.set("spec.priority", int64(3)).selectingAs(w, v1.group+"/v1", "Widget")) })
		s.Expect(w).ClaimedBy(p)
		s.Apply(w.At(3))
		s.Expect(w).At(3, "member1", "member2")
		s.same(w, before, "member1", "member2")
	})
}

// An override that names a version which the hub ceases to serve stays in force: nobody took
// it back.
func TestZ14VersionOfAnOverrideGoes(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		both := crd.versions("v1beta1", "v1")
		s.define(both, append([]string{"hub"}, members...)...)
		w, former := template{newThing(v1, s.ns, "one")}.At(1), v1
		former.version = "v1beta1"
		s.Apply(s.Policy("pp").Selecting(w).toAll(), s.override("over", template{newThing(former, s.ns, "one")}, "by", "override"), w)
		labelled := func() {
			for _, m := range members {
				s.Expect(w).Labelled(m, "by", "override").Work(m, isCondition("Applied", "True"))
			}
		}
		labelled()
		s.Unchanged(func() {
			if err := s.apply(s.lab.hub, both.unserved()); err != nil {
				s.Fatal(err)
			}
			s.Settle()
		})
		s.Apply(w.At(2))
		s.Expect(w).At(2, members...)
		labelled()
	})
}

// A member that serves the kind with another scope gets nothing, whoever has the name there,
// and keeps no Work from going.
func TestZ14AnotherScopeInAMember(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub", "member2", "member3")
		s.define(crd.with("spec.scope", "Cluster"), "member1")
		one := template{newThing(widgets, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").Selecting(one).toAll(), one)
		s.Expect(one).In("member2", "member3").Work("member1", isCondition("Applied", "False", "RefusedByMember", "without namespaces"))
		if all, err := s.lab.clusters["member1"].on(widgets, "").List(s.Context(), metav1.ListOptions{}); err != nil || len(all.Items) > 0 {
			s.Errorf("member1 has %v (%v), want none", all, err)
		}
		s.Delete(one)
		s.Expect(one).Nowhere().Works()
	})
}

// A policy for a version that is not served yet takes effect when it is: nobody has to
// touch the policy or its templates.
func TestZ14VersionComes(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		both := crd.versions("v1beta1", "v1")
		s.define(both.unserved(), append([]string{"hub"}, members...)...)
		w := template{newThing(v1, s.ns, "one")}.At(1)
		p := s.Policy("pp").selectingAs(w, v1.group+"/v1beta1", "Widget").To("member1")
		s.Apply(p, w, s.Policy("other").selectingAs(template{newThing(v1, s.ns, "two")}, v1.group+"/v1", "Widget").To("member2"))
		s.saysKindNotServed(p)
		s.Settle()
		s.Expect(w).Nowhere()
		if err := s.apply(s.lab.hub, both); err != nil {
			s.Fatal(err)
		}
		s.Expect(w).In("member1").ClaimedBy(p)
	})
}

func TestZ9ClaimTakenOff(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		pp := s.Policy("pp").SuspendedOn("member2").To("member1", "member2")
		s.Apply(pp, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(pp)
		s.Apply(s.Policy("a-better").Priority(9).To("member3"))
		s.Unchanged(func() {
			s.Patch(nginx, `{"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":null,"clusterpropagationpolicy.karmada.io/permanent-id":null}}}`)
			s.Expect(nginx).ClaimedBy(pp)
		})
		s.Expect(nginx).In("member1").ClaimedBy(pp)
	})
}

// The same after a restart: what is read anew is read by a version that is served.
func TestZ14VersionGoesAndRestart(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		both := crd.versions("v1beta1", "v1")
		s.define(both, append([]string{"hub"}, members...)...)
		w := template{newThing(v1, s.ns, "one")}.At(1)
		p := s.Policy("pp").selectingAs(w, v1.group+"/v1beta1", "Widget").To("member1", "member2")
		s.Apply(p, w)
		s.Expect(w).In("member1", "member2").ClaimedBy(p)
		before := s.uids(w, "member1", "member2")
		s.Unchanged(func() {
			if err := s.apply(s.lab.hub, both.unserved()); err != nil {
				s.Fatal(err)
			}
			s.saysKindNotServed(p)
			s.Restart()
			s.Flush()
		})
		s.Expect(w).ClaimedBy(p)
		s.goesOn(w, 2, before, "member1", "member2")
		s.Unchanged(func() { s.Apply(p.selectingAs(w, v1.group+"/v1", "Widget")) })
		s.Expect(w).ClaimedBy(p)
		s.goesOn(w, 3, before, "member1", "member2")
	})
}

var (
	mutatingWebhooks   = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "MutatingWebhookConfiguration", plural: "mutatingwebhookconfigurations", clusterScoped: true}
	validatingWebhooks = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations", clusterScoped: true}
)

// unregister lets the hub ask no webhook of the pipeline, until one starts again.
func (s *scenario) unregister() {
	s.Helper()
	for _, r := range []resource{mutatingWebhooks, validatingWebhooks} {
		s.forget("hub", newThing(r, "", "sluice"))
	}
}

// withoutWebhook takes the webhook away until the test ends.
func (s *scenario) withoutWebhook() {
	s.Helper()
	s.party.together(s.unregister)
	s.Eventually(func() error { // the hub hears of it late
		p := s.Policy("probe").SelectingNothing()
		o, err := s.lab.hub.on(p.resource, p.namespace()).Apply(s.Context(), p.name(), p.object(), metav1.ApplyOptions{FieldManager: "e2e", DryRun: []string{metav1.DryRunAll}})
		if err == nil && o.GetLabels()[ppID]+o.GetLabels()[cppID] != "" {
			return errors.New("the webhook is still asked")
		}
		return err
	})
	s.Cleanup(s.Restart)
}

// Nothing relies on the webhook.
func TestZ1Z2Z8Z9WithoutWebhook(t *testing.T) {
	alone(t, preemption, inNamespaces, func(s *scenario) {
		s.withoutWebhook()
		nginx := s.Deployment("nginx")
		pp := s.Policy("pp").To(members...)
		s.Apply(pp, nginx)
		s.Expect(nginx).In(members...).ClaimedBy(pp)
		before := s.uids(nginx, members...)
		wrong := []policy{s.Policy("all").Priority(100).set("spec.resourceSelectors", []any{map[string]any{"apiVersion": "apps/v9", "kind": "Deployment"}})}
		for i, as := range [][2]string{{"apps/v9", "Deployment"}, {"apps/v1", "deployment"}, {"nowhere.example.org/v1", "Deployment"}} {
			wrong = append(wrong, s.Policy(fmt.Sprintf("bad-%d", i)).selectingAs(nginx, as[0], as[1]).To("member1").Always().Priority(100))
		}
		s.Unchanged(func() {
			for _, p := range wrong {
				s.Apply(p)
				s.saysKindNotServed(p)
			}
		})
		s.Unchanged(func() {
			for _, p := range wrong {
				s.Delete(p)
			}
			s.Patch(nginx, `{"metadata":{"labels":{"propagationpolicy.karmada.io/permanent-id":null,"clusterpropagationpolicy.karmada.io/permanent-id":null}}}`)
			s.Expect(nginx).ClaimedBy(pp)
		})
		edited := pp.selectingAs(nginx, "apps/v9", "Deployment")
		s.Untouched(func() {
			s.Apply(edited)
			s.saysKindNotServed(edited)
			s.Expect(nginx).Unclaimed()
			s.Apply(pp)
			s.Expect(nginx).ClaimedBy(pp)
		})
		s.goesOn(nginx, 2, before, members...)
	})
}

// A member that serves the kind in another version only, which the hub serves, too,
// gets it in that version.
func TestZ17VersionThatBothServe(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		v1beta1 := v1
		v1beta1.version = "v1beta1"
		s.define(crd.versions("v1beta1", "v1"), "hub", "member1", "member3")
		s.define(crd.versions("v1beta1"), "member2")
		w, old := template{newThing(v1, s.ns, "one")}.At(1), template{newThing(v1beta1, s.ns, "one")}.At(1)
		p := s.Policy("pp").selectingAs(w, v1.group+"/v1", "Widget").To("member1", "member2")
		s.Apply(p, w)
		s.Expect(w).At(1, "member1").Work("member2", isCondition("Applied", "True"))
		s.Expect(old).At(1, "member2")
		before := s.uids(old, "member2")
		s.Unchanged(func() {})
		s.ApplyIn("member2", old.At(9).thing)
		s.Eventually(func() error { return differs("content", contentOf(v1beta1, s.LiveIn("member2", old).Object), "1") })
		s.Apply(w.At(2))
		s.Expect(old).At(2, "member2")
		s.define(crd.versions("v1beta1", "v1"), "member2")
		s.goesOn(w, 3, nil)
		s.Expect(old).At(3, "member2")
		s.same(old, before, "member2")
		s.Delete(w)
		s.Expect(w).Nowhere()
	})
}

// A member that serves the kind no more keeps its object, which nobody forgets.
func TestZ17MemberStopsServing(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, v1 := s.definition("Widget")
		s.define(crd, "hub", "member1")
		both := crd.versions("v1", "v2")
		s.define(both, "member2")
		w := template{newThing(v1, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").selectingAs(w, v1.group+"/v1", "Widget").To("member1", "member2"), w)
		s.Expect(w).At(1, "member1", "member2").Work("member2", isCondition("Applied", "True"))
		before := s.uids(w, "member2")
		s.ApplyIn("member2", both.unserved())
		s.Apply(w.At(2))
		s.Expect(w).Work("member2", isCondition("Applied", "False", "KindNotServed")).At(2, "member1")
		s.ApplyIn("member2", both)
		s.Expect(w).At(2, "member1", "member2").Work("member2", isCondition("Applied", "True"))
		s.same(w, before, "member2")
		s.ApplyIn("member2", both.unserved())
		s.Eventually(func() error { // the member takes a moment
			if _, err := s.lab.clusters["member2"].on(v1, s.ns).Get(s.Context(), w.name(), metav1.GetOptions{}); err != nil {
				return nil
			}
			return errors.New("member2 still serves it")
		})
		s.Delete(w)
		s.Expect(w).Works("member2").Work("member2", isCondition("Applied", "False", "KindNotServed"))
		s.ApplyIn("member2", both)
		s.Expect(w).Nowhere()
	})
}
