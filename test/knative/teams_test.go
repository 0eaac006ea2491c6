// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTeamsOwnScheduler(t *testing.T) {
	w, other := newTeam(t)
	price := func(member string, price any) {
		t.Helper()
		w.merge(w.Context(), clusters, "", member, fmt.Sprintf(`{"metadata":{"labels":{"shop.example.com/price":%q}}}`, fmt.Sprint(price)))
	}
	price(members[0], 7)
	price(members[1], 3)
	w.policyOf("cheapest", map[string]any{"schedulerName": "cheapest"})
	other.policy() // Sluice's scheduler goes on beside it
	w.template("priced", "1")
	onlyIn := func(member int) func() string {
		return func() string {
			here, there := w.in(w.members[members[member]]), w.in(w.members[members[1-member]])
			if here["priced"] == "1" && there["priced"] == "" {
				return ""
			}
			return fmt.Sprintf("want it in %s alone: there it is %q, in the other %q", members[member], here["priced"], there["priced"])
		}
	}
	w.eventually(2*time.Minute, onlyIn(1))
	price(members[0], 1)
	w.eventually(2*time.Minute, onlyIn(0))
	w.stays(10*time.Second, onlyIn(0)) // nobody schedules it back
}

func TestTeamsChangeWindow(t *testing.T) {
	w, other := newTeam(t)
	w.policyOf("all", map[string]any{})
	w.template("first", "1")
	w.template("goes", "1")
	w.arrive(2*time.Minute, 2)

	w.close()
	w.template("first", "2")
	w.template("second", "1")
	unchanged := func() string {
		for _, m := range members {
			if got := w.in(w.members[m]); got["first"] != "1" || got["second"] != "" {
				return fmt.Sprintf("%s has first=%q second=%q, want what it had before", m, got["first"], got["second"])
			}
		}
		return ""
	}
	w.eventually(time.Minute, func() string { return w.waits("first", "second") })
	other.policy() // another team's change does not wait

	// Whatever makes Sluice look again, and a sweep.
	w.merge(w.Context(), bindings, shop, "first-configmap", `{"metadata":{"annotations":{"example.com/look":"again"}}}`)
	w.merge(w.Context(), clusters, "", members[0], fmt.Sprintf(`{"metadata":{"labels":{"example.com/look":"%d"}}}`, time.Now().Unix()))
	w.stays(75*time.Second, unchanged)

	// A deletion waits for nobody.
	if err := w.hub.Resource(configMaps).Namespace(shop).Delete(w.Context(), "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually(time.Minute, func() string {
		for _, m := range members {
			if v := w.in(w.members[m])["goes"]; v != "" {
				return m + " still has what was deleted"
			}
		}
		return ""
	})

	// Nor does a suspension; its end is a change like any other.
	suspended := func() bool {
		b := w.must(w.hub.Resource(bindings).Namespace(shop).Get(w.Context(), "first-configmap", metav1.GetOptions{}))
		yes, _, _ := unstructured.NestedBool(b.Object, "spec", "suspension", "dispatching")
		return yes
	}
	w.merge(w.Context(), policies, shop, "all", `{"spec":{"suspension":{"dispatching":true}}}`)
	w.eventually(time.Minute, func() string {
		if !suspended() {
			return "the suspension did not reach the binding"
		}
		return ""
	})
	w.merge(w.Context(), policies, shop, "all", `{"spec":{"suspension":null}}`)
	w.stays(20*time.Second, unchanged)

	w.hours(w.Context(), always)
	w.arrive(recovery, 2)
	w.eventually(time.Minute, func() string {
		if suspended() {
			return "the binding is still suspended"
		}
		return w.waits()
	})
}

// waits tells whether exactly these templates of the team are remembered as held,
// with a reason.
func (w *world) waits(names ...string) string {
	w.Helper()
	list, err := w.hub.Resource(configMaps).Namespace(tools).List(w.Context(), metav1.ListOptions{LabelSelector: "shop.example.com/held"})
	if err != nil {
		w.Fatal(err)
	}
	held := map[string]bool{}
	for _, r := range list.Items {
		about, why := w.text(&r, "data", "about"), w.text(&r, "data", "why")
		for _, name := range names {
			if strings.Contains(about, fmt.Sprintf(`"name":%q`, name)) && strings.HasPrefix(why, "OutsideWindow: until ") {
				held[name] = true
			}
		}
	}
	if len(held) != len(names) || len(names) == 0 && len(list.Items) > 0 {
		return fmt.Sprintf("%d templates wait, %v of %v among them", len(list.Items), held, names)
	}
	return ""
}

func TestTeamsAreToldOfPreemption(t *testing.T) {
	w, other := newTeam(t)
	const gate = `{"data":{"PropagationPolicyPreemption":%s}}`
	w.merge(w.Context(), configMaps, system, "config-features", fmt.Sprintf(gate, `"true"`))
	defer w.merge(w.Context(), configMaps, system, "config-features", fmt.Sprintf(gate, "null"))
	name := fmt.Sprintf("contested-%d", time.Now().Unix()%100000)
	for _, team := range []*world{w, other} {
		team.policyOf("weaker", map[string]any{"priority": int64(1)})
		team.template(name, "1")
		team.arrive(2*time.Minute, 1)
		team.policyOf("stronger", map[string]any{
			"priority": int64(5), "preemption": "Always",
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name}},
		})
	}
	const preempted = "dev.sluice.claim.preempted"
	said := func(namespace, display, about string) string {
		for _, e := range w.shown(namespace, display) {
			if sawType([]string{e}, preempted, name) != "" && strings.Contains(e, "\n  namespace: "+about+"\n") {
				return e
			}
		}
		return ""
	}
	w.eventually(2*time.Minute, func() string {
		for _, about := range []string{shop, other.namespace} {
			if said(system, "audit", about) == "" {
				return "nothing was preempted in " + about
			}
		}
		return ""
	})
	w.eventually(time.Minute, func() string {
		e := said(tools, "notifier", shop)
		if !strings.Contains(e, "stronger") || !strings.Contains(e, "weaker") {
			return "the team was not told who took its template from whom: " + e
		}
		return ""
	})
	w.stays(5*time.Second, func() string {
		if e := said(tools, "notifier", other.namespace); e != "" {
			return "the team was told of another's: " + e
		}
		return ""
	})
}

func TestTeamsAuditEverything(t *testing.T) {
	_, other := newTeam(t)
	other.policy()
	name, content := fmt.Sprintf("audited-%d", time.Now().Unix()%100000), "what nobody may read in a log"
	other.template(name, content)
	other.arrive(2*time.Minute, 2)
	types := []string{"template.claimed", "binding.activated", "binding.scheduled", "work.rendered", "work.applied", "template.reported"}
	other.eventually(time.Minute, func() string {
		all := other.shown(system, "audit")
		for _, typ := range types {
			if sawType(all, "dev.sluice."+typ, name) == "" {
				return fmt.Sprintf("of %d events none is %s about %s", len(all), typ, name)
			}
		}
		for _, e := range all {
			if strings.Contains(e, content) {
				return "an event holds the content of an object: " + e
			}
		}
		return ""
	})
}
