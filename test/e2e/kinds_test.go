// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forget deletes an object in a cluster if it is there.
func (s *scenario) forget(cluster string, o thing) {
	err := s.lab.clusters[cluster].on(o.resource, o.namespace()).Delete(s.background(), o.name(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Errorf("delete %s in %s: %v", o, cluster, err)
	}
}

// ends returns when the hub does not have the object any more, which somebody deleted.
func (s *scenario) ends(o thing) {
	s.Helper()
	s.Eventually(func() error {
		_, err := s.lab.hub.on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("%s is still there", o)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// definition is the CustomResourceDefinition of a kind that nobody else has.
func (s *scenario) definition(kind string) (thing, resource) {
	group := strings.TrimPrefix(s.ns, scenarioPrefix) + ".example.org"
	r := resource{group: group, version: "v1", kind: kind, plural: strings.ToLower(kind) + "s"}
	s.Cleanup(func() {
		for _, c := range s.lab.clusters {
			c.drop(r)
		}
	})
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return newThing(crds, "", r.plural+"."+group).with("spec", map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"kind": kind, "plural": r.plural, "singular": strings.ToLower(kind), "listKind": kind + "List"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": anything}, "subresources": map[string]any{"status": map[string]any{}},
		}},
	}), r
}

// retire deletes the kind's templates and waits until no Work is left of them, as
// whoever takes a kind away does first: of a kind that is not served nobody can
// tell what is gone.
func (s *scenario) retire(crd thing) {
	s.Helper()
	names := crd.body["spec"].(map[string]any)["names"].(map[string]any)
	r := resource{group: crd.body["spec"].(map[string]any)["group"].(string), version: "v1", kind: names["kind"].(string), plural: names["plural"].(string)}
	err := s.lab.hub.on(r, s.ns).DeleteCollection(s.background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Errorf("delete what there is of %s: %v", crd, err)
		return
	}
	s.Eventually(func() error {
		var left []error
		for _, o := range s.lab.hub.mirror(works).of(s.ns) {
			if m := manifestOf(o); m.GetKind() == r.kind && strings.HasPrefix(m.GetAPIVersion(), r.group+"/") {
				left = append(left, fmt.Errorf("Work %s is still there: %s", keyOf(o), asJSON(o.Object["status"])))
			}
		}
		return errors.Join(left...)
	})
}

// define installs a kind in clusters and waits until they serve it.
func (s *scenario) define(crd thing, in ...string) {
	s.Helper()
	for _, c := range in {
		if err := s.apply(s.lab.clusters[c], crd); err != nil {
			s.Fatalf("define %s in %s: %v", crd, c, err)
		}
		s.Cleanup(func() { s.forget(c, crd) })
	}
	for _, c := range in {
		s.Eventually(func() error { return isCondition("Established", "True")(s.LiveIn(c, crd).Object) })
	}
	s.Cleanup(func() {
		if !s.Failed() {
			s.retire(crd)
		}
	})
}

func TestKindCustom(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		w := template{newThing(widgets, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").Selecting(w).toAll(), w)
		s.Expect(w).In(members...).At(1)
		s.Apply(w.At(2))
		s.Expect(w).At(2, members...)
		s.Delete(w)
		s.Expect(w).Nowhere()
	})
}

// What is created in a member is watched there, also if it is the first of its kind, and
// nobody looks at it again.
func TestC76TheFirstOfAKindIsPutBack(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		w, p := template{newThing(widgets, s.ns, "one")}.At(1), s.everywhere()
		s.Apply(w)
		s.knows(widgets)
		s.Apply(p)
		s.Says(p, carried...)
		s.Expect(w).In(members...).At(1)
		s.PatchIn("member2", w, `{"spec":{"version":7}}`)
		s.Expect(w).At(1, members...)
		s.DeleteIn("member1", w)
		s.Expect(w).In(members...).At(1)
	})
}

// A kind that a member does not serve is its own affair, and mends itself when
// the kind is installed there.
func TestKindNotServed(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub", "member1")
		w := template{newThing(widgets, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").Selecting(w).To("member1", "member2"), w)
		s.Expect(w).At(1, "member1").Work("member2", isCondition("Applied", "False", "Widget"))
		s.define(crd, "member2")
		s.Expect(w).In("member1", "member2").Work("member2", isCondition("Applied", "True"))
	})
}

// A kind of people's own is deleted, and made anew at once: nobody asked for the removal
// of its objects. Their Works and the commands say why they are kept, and nothing is
// written any more. One that is made again takes over what members have, and leaves when it
// is deleted.
func TestZ11KindMadeAnew(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		w := template{newThing(widgets, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").Selecting(w).toAll(), w)
		s.Expect(w).In(members...).At(1, members...)
		before := s.uids(w, members...)
		anew := func() { s.undefine(widgets); s.install(crd) }
		s.Untouched(anew)
		s.Expect(w).Works(members...)
		s.outlives(w, members...)
		s.Unchanged(func() {})
		s.goesOn(w, 2, before, members...)
		s.outlives(w)
		anew()
		s.Eventually(func() error { return s.apply(s.lab.hub, w.At(3).thing) })
		s.Expect(w).At(3, members...)
		s.goesOn(w, 4, before, members...)
		s.Delete(w)
		s.Expect(w).Nowhere()
	})
}

// outlives checks in which of the members what the template brought is kept, as it went with a
// former definition of its kind.
func (s *scenario) outlives(t template, in ...string) {
	s.Helper()
	for _, m := range members {
		says := hasNoCondition("Kept")
		if slices.Contains(in, m) {
			says = isCondition("Kept", "True", "CannotTell", "defined anew")
		}
		s.Expect(t).Work(m, says).Work(m, func(w map[string]any) error {
			return differs("the generation that is applied", number(conditionOf(w, "Applied"), "observedGeneration"), number(w, "metadata.generation"))
		})
	}
	s.orphaned(t, in...)
	if len(in) > 0 {
		s.explains("defined anew", strings.ToLower(t.kind)+"."+t.group+"/"+t.name())
	}
}

// hasNoCondition tells whether an object has no condition of the type.
func hasNoCondition(kind string) func(map[string]any) error {
	return func(obj map[string]any) error {
		if c := conditionOf(obj, kind); c != nil {
			return fmt.Errorf("has the condition %s: %s", kind, asJSON(c))
		}
		return nil
	}
}

// replaced deletes a definition on the hub and makes it again at once, with all that goes
// with it.
func (s *scenario) replaced(crd thing) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "crd.json")
	if err := os.WriteFile(file, []byte(asJSON(crd.object().Object)), 0o600); err != nil {
		s.Fatal(err)
	}
	if out, err := s.kubectl("replace", "--force", "-f", file); err != nil {
		s.Fatalf("replace %s: %v\n%s", crd, err, out)
	}
	s.Eventually(func() error { return isCondition("Established", "True")(s.Live(crd).Object) })
}

// So it is with what a placement brought: also when another object's change makes a new
// snapshot. What is made again counts again, even if it is what it was.
func TestZ11KindMadeAnewStaysPlaced(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		one, two := template{newThing(widgets, s.ns, "one")}.At(1), template{newThing(widgets, s.ns, "two")}.At(1)
		cm, p := s.ConfigMap("pages").set("data.page", "one"), s.everywhere()
		s.Apply(one, two, cm, p)
		s.Expect(one).In(members...)
		s.Expect(two).In(members...)
		s.Says(p, carried...)
		first, second := s.uids(one, members...), s.uids(two, members...)
		s.unwritten(func() { s.replaced(crd) })
		s.Apply(cm.set("data.page", "two"))
		s.holds(cm, "page", "two", members...)
		s.unwritten(func() {})
		s.same(one, first, members...)
		s.same(two, second, members...)

		s.Apply(one.At(3))
		s.Expect(one).At(3, members...)
		s.same(one, first, members...)
		s.Delete(one)
		s.Expect(one).Nowhere()
		s.same(two, second, members...)

		noted := func() string {
			o := s.Latest(placement{p}, func(names []string) error {
				left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, "Widget ") })
				return are("Widget two")(left)
			})
			return o.GetAnnotations()["sluice.dev/created"]
		}
		former := noted()
		s.Apply(two)
		s.Eventually(func() error {
			if noted() == former {
				return errors.New("the snapshot says nothing of it")
			}
			return nil
		})
		s.same(two, second, members...)
		s.Delete(two)
		s.Expect(two).Nowhere()
	})
}

// The policy is there before its kind.
func TestKindAfterPolicy(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		w := template{newThing(widgets, s.ns, "one")}.At(1)
		s.Apply(s.Policy("pp").Selecting(w))
		s.Settle()
		s.define(crd, "hub", "member1")
		s.Apply(w)
		s.Expect(w).In("member1")
	})
}

// A definition is a template like any other.
func TestKindDefinitionItself(t *testing.T) {
	each(t, gatesOff, []form{cppcr}, func(s *scenario) {
		crd, _ := s.definition("Widget")
		d := template{crd.mark("labels", scenarioLabel, s.ns)}
		s.Apply(s.Policy("pp").Selecting(d).To("member1"))
		s.define(d.thing, "hub")
		s.Expect(d).In("member1")
		s.Delete(d)
		s.Expect(d).Nowhere()
	})
}

// Two kinds of one name in different groups have nothing to do with each other.
func TestKindSameName(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, other := s.definition("Deployment")
		s.define(crd, append([]string{"hub"}, members...)...)
		nginx, service := s.Deployment("nginx"), s.Service("nginx")
		namesake := template{newThing(other, s.ns, "nginx")}.At(7)
		s.Apply(s.Policy("a").Selecting(nginx), s.Policy("b").Selecting(namesake).To("member2"), s.Policy("c").Selecting(service).To("member3"))
		s.Apply(nginx, namesake, service)
		s.Expect(nginx).In("member1").At(1).ClaimedBy(s.Policy("a"))
		s.Expect(namesake).In("member2").At(7).ClaimedBy(s.Policy("b"))
		s.Expect(service).In("member3").ClaimedBy(s.Policy("c"))
		s.Delete(nginx)
		s.Expect(nginx).Nowhere()
		s.Settle()
		s.Expect(namesake).In("member2")
		s.Expect(service).In("member3")
	})
}

func TestKindLongNames(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		long := strings.Repeat("n", 253)
		var one, two template
		if s.clusterTemplate {
			stem := strings.Repeat("n", 252-len(s.ns)-1)
			one, two = s.ClusterRole(stem+"1"), s.ClusterRole(stem+"2")
		} else {
			one, two = s.ConfigMap(long), s.ConfigMap(long[1:]+"2")
		}
		p := s.Policy(strings.Repeat("p", 200)).Selecting(one, two)
		if s.clusterPolicy {
			p = s.Policy(strings.Repeat("p", 190-len(s.ns))).Selecting(one, two)
		}
		s.Apply(p, one, two)
		s.Expect(one).In("member1").ClaimedBy(p)
		s.Expect(two).In("member1").ClaimedBy(p)
		s.Apply(two.At(2), p.To("member2"))
		s.Expect(one).In("member2").At(1)
		s.Expect(two).In("member2").At(2)
		s.Delete(one)
		s.Expect(one).Nowhere()
	})
}

// The namespace of the template is made in the member.
func TestKindNamespaceIsMade(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		ns := newThing(namespaces, "", s.ns)
		for _, m := range members {
			if s.Expect(ns).inMember(m) != nil {
				s.Fatalf("%s is in %s before anything went there", ns, m)
			}
		}
		config := s.ConfigMap("config")
		s.Apply(s.Policy("pp").Selecting(config).To("member2"), config)
		s.Expect(config).In("member2")
		s.Expect(ns).Member("member2", func(map[string]any) error { return nil })
	})
}

// Labels and annotations of the user go along, and of the claim the name of its policy,
// as released, but not the label that the claim is known by.
func TestKindMetadata(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := template{s.Template("nginx").Label("team", "blue").mark("annotations", "example.org/note", "x")}
		s.Apply(s.Policy("pp"), nginx)
		s.Expect(nginx).In("member1").Labelled("member1", "team", "blue").Member("member1", func(obj map[string]any) error {
			annotations, _ := at(obj, "metadata.annotations").(map[string]any)
			if annotations["example.org/note"] != "x" {
				return errors.New("the user's annotation is missing")
			}
			if annotations["propagationpolicy.karmada.io/name"] == nil && annotations["clusterpropagationpolicy.karmada.io/name"] == nil {
				return errors.New("the name of the policy is missing")
			}
			labels, _ := at(obj, "metadata.labels").(map[string]any)
			for k := range labels {
				if strings.Contains(k, "propagationpolicy.karmada.io") {
					return errors.New(k + " of the claim is in the member")
				}
			}
			return nil
		})
		s.Patch(nginx, "{\"metadata\":{\"labels\":{\"team\":null}}}")
		s.Expect(nginx).Labelled("member1", "team", "")
	})
}

// The Deployment on the hub sums up those in the members.
func TestKindDeploymentStatus(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx").Replicas(2)
		s.Apply(s.Policy("pp").toAll(), nginx)
		s.Expect(nginx).In(members...).Template(func(obj map[string]any) error {
			for _, f := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas"} {
				if err := differs("status."+f, number(obj, "status."+f), int64(6)); err != nil {
					return err
				}
			}
			return differs("status.observedGeneration", number(obj, "status.observedGeneration"), number(obj, "metadata.generation"))
		}).Binding(func(b map[string]any) error {
			for _, item := range items(b, "status.aggregatedStatus") {
				if item["applied"] != true || item["health"] != "Healthy" {
					return fmt.Errorf("aggregated status: %s", asJSON(item))
				}
			}
			return differs("clusters in the aggregated status", len(items(b, "status.aggregatedStatus")), 3)
		}).Binding(isCondition("FullyApplied", "True"))
	})
}

func TestKindConfigMapAndService(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config, service := s.ConfigMap("config"), s.Service("web")
		s.Apply(s.Policy("pp").Selecting(config, service).toAll(), config, service)
		s.Expect(config).In(members...).Binding(isCondition("FullyApplied", "True"))
		s.Expect(service).In(members...).Binding(isCondition("FullyApplied", "True"))
		address := text(s.LiveIn("member1", service).Object, "spec.clusterIP")
		s.Apply(service.At(8080), config.At(2))
		s.Expect(service).At(8080, members...)
		s.Expect(config).At(2, members...)
		if got := text(s.LiveIn("member1", service).Object, "spec.clusterIP"); got != address || got == "" {
			s.Errorf("the member's clusterIP was %q and is %q", address, got)
		}
	})
}

// What is in a Secret is never kept in a kind that more people may read.
func TestKindSecret(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		secret := s.Secret("secret").set("stringData.password", "correct-horse")
		s.Apply(s.Policy("pp").Selecting(secret).To("member1"), secret)
		s.Expect(secret).In("member1").At(1)
		encoded := base64.StdEncoding.EncodeToString([]byte("correct-horse"))
		for _, r := range []resource{revisions, configMaps} {
			l, err := s.lab.hub.on(r, s.ns).List(s.Context(), metav1.ListOptions{})
			if err != nil {
				s.Fatal(err)
			}
			for _, o := range l.Items {
				if said := asJSON(o.Object); strings.Contains(said, encoded) || strings.Contains(said, "correct-horse") {
					s.Errorf("%s %s holds what is in the Secret", r.kind, o.GetName())
				}
			}
		}
	})
}

// Three frozen contents are kept, the one in force among them.
func TestKindHistoryLimit(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp"), nginx)
		s.Expect(nginx).In("member1")
		for n := range int64(5) {
			s.Apply(nginx.At(n + 2))
			s.Expect(nginx).At(n+2, "member1")
		}
		uid := string(s.Expect(nginx).binding().GetUID())
		l, err := s.lab.hub.on(revisions, "").List(s.Context(), metav1.ListOptions{})
		if err != nil {
			s.Fatal(err)
		}
		kept, current := 0, false
		for _, r := range l.Items {
			for _, owner := range r.GetOwnerReferences() {
				if string(owner.UID) == uid {
					kept++
					data, _ := at(r.Object, "data").(map[string]any)
					current = current || contentOf(nginx.resource, data) == "6"
				}
			}
		}
		if kept != 3 || !current {
			s.Errorf("%d revisions are kept, the current one among them: %t; want 3", kept, current)
		}
	})
}
