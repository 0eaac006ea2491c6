// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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
