// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var interpreters = resource{group: "config.sluice.dev", version: "v1alpha1", kind: "ResourceInterpreter", plural: "resourceinterpreters", clusterScoped: true}

// interpreter is the rules of a kind, gone after the test.
func (s *scenario) interpreter(name string, of resource, rules map[string]any) thing {
	o := newThing(interpreters, "", s.unique(name)).with("spec", map[string]any{
		"target": map[string]any{"apiVersion": of.apiVersion(), "kind": of.kind}, "rules": rules,
	})
	s.Cleanup(func() {
		err := s.lab.hub.on(interpreters, "").Delete(s.background(), o.name(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.Errorf("delete %s: %v", o, err)
		}
	})
	return o
}

// accepted waits until the rules say so of themselves.
func (s *scenario) accepted(o thing, status string, words ...string) {
	s.Helper()
	s.Eventually(func() error { return isCondition("Accepted", status, words...)(s.Live(o).Object) })
}

func expression(text string) map[string]any { return map[string]any{"expression": text} }

// saying is a check for a value at a path.
func saying(path string, want any) func(obj map[string]any) error {
	return func(obj map[string]any) error {
		if got := at(obj, path); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		return nil
	}
}

// healthy is a check for what a binding says of a member.
func healthy(member, health string, words ...string) func(obj map[string]any) error {
	return func(b map[string]any) error {
		all, _ := at(b, "status.aggregatedStatus").([]any)
		for _, item := range all {
			i, _ := item.(map[string]any)
			if i["clusterName"] != member {
				continue
			}
			for _, w := range words {
				if !strings.Contains(text(i, "appliedMessage"), w) {
					return fmt.Errorf("says of %s %q, want %q", member, text(i, "appliedMessage"), w)
				}
			}
			if i["health"] != health {
				return fmt.Errorf("%s is %v, want %s", member, i["health"], health)
			}
			return nil
		}
		return fmt.Errorf("says nothing of %s", member)
	}
}

// A kind of a team's own, with rules: it is divided, its health and its status come
// back, what it refers to follows, and what a member changes of its own stays. Rules
// that break leave all that as it is.
func TestKindWithRulesOfItsOwn(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub", "member1", "member2")
		rules := map[string]any{
			"replicas":         map[string]any{"path": "spec.size"},
			"health":           expression("object.?status.?ready.orValue(0) >= object.spec.size"),
			"aggregatedStatus": expression("{'ready': members.map(m, m.status.?ready.orValue(0)).sum(), 'where': members.map(m, m.cluster)}"),
			"memberFields":     list("spec.paused"),
			"dependencies":     expression("[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': object.spec.settings}]"),
		}
		r := s.interpreter("widgets", widgets, rules)
		s.Apply(r)
		s.accepted(r, "True")

		settings := s.ConfigMap("settings")
		spec := func(size int64) map[string]any {
			return map[string]any{"size": size, "paused": false, "settings": settings.name()}
		}
		w := template{newThing(widgets, s.ns, "blue").with("spec", spec(6))}
		weigh := func(member string, n int64) any {
			return map[string]any{"targetCluster": named(member), "weight": n}
		}
		s.Apply(settings, w, s.Policy("pp").Selecting(w).To("member1", "member2").set("spec.propagateDeps", true).
			set("spec.placement.replicaScheduling", map[string]any{
				"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
				"weightPreference": map[string]any{"staticWeightList": anyOf(weigh("member1", 2), weigh("member2", 1))},
			}))
		s.Expect(w).Member("member1", saying("spec.size", 4)).Member("member2", saying("spec.size", 2))
		s.Expect(settings).In("member1", "member2")

		for member, ready := range map[string]int{"member1": 4, "member2": 1} {
			s.patch(s.lab.clusters[member], w, "widget-controller", fmt.Sprintf(`{"status":{"ready":%d}}`, ready), "status")
		}
		s.Expect(w).Binding(healthy("member1", "Healthy")).Binding(healthy("member2", "Unhealthy")).
			Template(saying("status.ready", 5)).Template(saying("status.where", []string{"member1", "member2"}))

		s.PatchIn("member1", w, `{"spec":{"paused":true}}`)
		w = template{w.with("spec", spec(9))}
		s.Apply(w)
		s.Expect(w).Member("member1", saying("spec.size", 6)).Member("member2", saying("spec.size", 3)).
			Member("member1", saying("spec.paused", true)).Member("member2", saying("spec.paused", false))

		// Rules that compile, and fail for what there is.
		rules["health"], rules["aggregatedStatus"] = expression("object.status.ready"), expression("{'ready': members.map(m, m.status.none).sum()}")
		s.Apply(s.interpreterOf(r, widgets, rules))
		s.Expect(w).Binding(healthy("member1", "Unknown", "spec.rules.health.expression")).Binding(isCondition("StatusAggregated", "False", "spec.rules.aggregatedStatus.expression")).
			Template(saying("status.ready", 5))
		s.Expect(w).Member("member1", saying("spec.size", 6)).Member("member2", saying("spec.size", 3))
		s.Expect(settings).In("member1", "member2")
	})
}

// Rules that nobody took back stay in force when the definition of rules goes, as far as what
// runs goes, and say why. They are in force again when they are applied again, and no more
// when somebody deletes them.
func TestZ11RulesStayInForceWithoutTheirDefinition(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub", "member1", "member2")
		r := s.interpreter("widgets", widgets, map[string]any{
			"replicas": map[string]any{"path": "spec.size"}, "memberFields": list("spec.paused"),
			"dependencies": expression("[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': object.spec.settings}]"),
		})
		s.Apply(r)
		s.accepted(r, "True")
		settings := s.ConfigMap("settings")
		w := template{newThing(widgets, s.ns, "blue").with("spec", map[string]any{"size": int64(6), "paused": false, "settings": settings.name()})}
		s.Apply(settings, w, s.Policy("pp").Selecting(w).To("member1", "member2").set("spec.propagateDeps", true).
			set("spec.placement.replicaScheduling", map[string]any{"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}))
		has := func(size int, paused bool) {
			s.Helper()
			for _, m := range members[:2] {
				s.Expect(w).Member(m, saying("spec.size", size)).Member("member1", saying("spec.paused", paused))
			}
		}
		has(3, false)
		s.Expect(settings).In("member1", "member2")
		s.PatchIn("member1", w, `{"spec":{"paused":true}}`)
		s.Rest()
		has(3, true)

		definition := s.crd(interpreters)
		s.Untouched(func() { s.undefine(interpreters) })
		s.Expect(w).Binding(isCondition("Rendered", "False", "RuleFailed", r.name()+" went with its definition"))
		s.explains(r.name()+" went with its definition", widgets.plural+"/"+w.name())
		w = w.set("spec.size", int64(8))
		s.Untouched(func() { s.Apply(w) })
		s.Expect(w).Binding(isCondition("Active", "False", "RuleFailed", r.name()+" went with its definition"))
		s.Untouched(func() { s.install(definition) })
		s.Expect(w).Binding(isCondition("Rendered", "False", r.name()+" went with its definition"))
		has(3, true)
		s.Expect(settings).In("member1", "member2")

		s.Eventually(func() error { return s.apply(s.lab.hub, r) })
		has(4, true)
		s.Expect(w).Binding(isCondition("Rendered", "True")).Binding(isCondition("Active", "True"))
		s.Delete(r)
		has(8, false)
		s.Expect(settings).Nowhere()
	})
}

// interpreterOf is the object with other rules.
func (s *scenario) interpreterOf(o thing, of resource, rules map[string]any) thing {
	return o.with("spec", map[string]any{"target": map[string]any{"apiVersion": of.apiVersion(), "kind": of.kind}, "rules": rules})
}

// Rules that are wrong, and a second object for the kind, say so.
func TestKindWhoseRulesDoNotAct(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		_, widgets := s.definition("Widget")
		first := s.interpreter("a", widgets, map[string]any{"health": expression("true")})
		s.Apply(first)
		s.accepted(first, "True")
		second := s.interpreter("b", widgets, map[string]any{"health": expression("true")})
		s.Apply(second)
		s.accepted(second, "False", "Conflict", first.name())
		wrong := s.interpreter("c", widgets, map[string]any{"health": expression("oops(")})
		if err := s.apply(s.lab.hub, wrong); err == nil || !strings.Contains(err.Error(), "spec.rules.health.expression") {
			s.Errorf("the webhook says of a wrong rule: %v", err)
		}
		s.withoutWebhook()
		s.Apply(wrong)
		s.accepted(wrong, "False", "InvalidRules", "spec.rules.health.expression")
		s.Delete(first)
		s.accepted(second, "True")
	})
}

func anyOf(all ...any) []any { return all }
