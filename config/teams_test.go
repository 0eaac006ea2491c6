// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"testing"

	"k8s.io/client-go/dynamic"
)

// A team may have Triggers of its own beside Sluice's, and nothing follows from them
// but that it hears of its own namespaces.
func TestZ37ATeamsTriggers(t *testing.T) {
	l := newLab(t)
	shop := l.namespace("")
	bounds, err := os.ReadFile("../examples/teams/bounds/bounds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l.apply(bounds)
	// What a team may do in its namespace; and in the examples' group it is already.
	l.apply([]byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: ` + shop + `, name: team}
rules:
  - {apiGroups: [work.karmada.io], resources: [resourcebindings], verbs: [get, list]}
  - {apiGroups: [""], resources: [services], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: ` + shop + `, name: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: team}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: team-shop}]
---
{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: renderer, labels: {app.kubernetes.io/part-of: sluice}}, spec: {broker: sluice, subscriber: {ref: {apiVersion: v1, kind: Service, name: renderer, namespace: sluice-system}}}}
---
{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: of-team-shop}, spec: ` + spec(shop, shop, "") + `}
---
{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: of-another-team}, spec: ` + spec("default", "default", "") + `}
`))
	trigger := func(name, metadata, spec string) string {
		if spec != "" {
			spec = ", spec: " + spec
		}
		return "{apiVersion: eventing.knative.dev/v1, kind: Trigger, metadata: {namespace: sluice-system, name: " + name + metadata + "}" + spec + "}"
	}
	const (
		policy = "sluice-team-triggers"
		own    = ", labels: {app.kubernetes.io/part-of: sluice}"
		owner  = "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: none}]"
	)
	mine := spec(shop, shop, "")
	cases := map[string]asked{
		"one of its own":                        {"", request{"create", trigger("notify", "", mine), ""}, ""},
		"dead letters to itself":                {"", request{"create", trigger("notify", "", spec(shop, shop, ", delivery: {deadLetterSink: {ref: {apiVersion: v1, kind: Service, name: x, namespace: "+shop+"}}}")), ""}, ""},
		"another filter of its own":             {"", request{"patch", trigger("of-team-shop", "", ""), "{spec: {filters: [{exact: {namespace: " + shop + ", kind: Deployment}}]}}"}, ""},
		"a label on its own":                    {"", request{"patch", trigger("of-team-shop", "", ""), "{metadata: {labels: {a: b}}}"}, ""},
		"its own goes":                          {"", request{"delete", trigger("of-team-shop", "", ""), ""}, ""},
		"a stage's name":                        {"", request{"create", trigger("gate", "", mine), ""}, policy},
		"the name of a member's":                {"", request{"create", trigger("applier-member1", "", mine), ""}, policy},
		"the name of a source":                  {"", request{"create", trigger("member-member1", "", mine), ""}, policy},
		"Sluice's label":                        {"", request{"create", trigger("notify", own, mine), ""}, policy},
		"Sluice's label, later":                 {"", request{"patch", trigger("of-team-shop", "", ""), "{metadata: {labels: {app.kubernetes.io/part-of: sluice}}}"}, policy},
		"an owner":                              {"", request{"create", trigger("notify", ", "+owner, mine), ""}, policy},
		"an owner of its own, later":            {"", request{"patch", trigger("of-team-shop", "", ""), "{metadata: {" + owner + "}}"}, policy},
		"an owner of a stage's":                 {"", request{"patch", trigger("renderer", "", ""), "{metadata: {" + owner + "}}"}, policy},
		"an annotation on a stage's":            {"", request{"patch", trigger("renderer", "", ""), "{metadata: {annotations: {a: b}}}"}, policy},
		"a finalizer on another's":              {"", request{"patch", trigger("of-another-team", "", ""), "{metadata: {finalizers: [example.org/x]}}"}, policy},
		"a stage's goes":                        {"", request{"delete", trigger("renderer", "", ""), ""}, policy},
		"another team's goes":                   {"", request{"delete", trigger("of-another-team", "", ""), ""}, policy},
		"a stage's leads elsewhere":             {"", request{"patch", trigger("renderer", "", ""), "{spec: " + mine + "}"}, policy},
		"the functions' audience":               {"", request{"create", trigger("notify", "", spec(shop, shop, "", ", audience: sluice-functions")), ""}, policy},
		"the audience, later":                   {"", request{"patch", trigger("of-team-shop", "", ""), "{spec: {subscriber: {audience: sluice-functions}}}"}, policy},
		"the audience, of dead letters":         {"", request{"create", trigger("notify", "", spec(shop, shop, ", delivery: {deadLetterSink: {audience: sluice-functions, ref: {apiVersion: v1, kind: Service, name: x, namespace: "+shop+"}}}")), ""}, policy},
		"no filter":                             {"", request{"create", trigger("notify", "", "{broker: sluice, subscriber: {ref: {apiVersion: v1, kind: Service, name: x, namespace: "+shop+"}}}"), ""}, policy},
		"another namespace":                     {"", request{"create", trigger("notify", "", spec("default", shop, "")), ""}, policy},
		"another namespace, later":              {"", request{"patch", trigger("of-team-shop", "", ""), "{spec: {filters: [{exact: {namespace: default}}]}}"}, policy},
		"a subscriber elsewhere":                {"", request{"create", trigger("notify", "", spec(shop, "default", "")), ""}, policy},
		"a function of Sluice's as subscriber":  {"", request{"create", trigger("notify", "", spec(shop, "sluice-system", "")), ""}, policy},
		"an address as subscriber":              {"", request{"create", trigger("notify", "", "{broker: sluice, filters: [{exact: {namespace: "+shop+"}}], subscriber: {uri: 'http://gate.sluice-system'}}"), ""}, policy},
		"dead letters to an address":            {"", request{"create", trigger("notify", "", spec(shop, shop, ", delivery: {deadLetterSink: {uri: 'http://gate.sluice-system'}}")), ""}, policy},
		"its own from where it may not be read": {"", request{"patch", trigger("of-another-team", "", ""), "{spec: " + mine + "}"}, policy},
	}
	l.ask(func(string) dynamic.Interface { return l.as("somebody", "team-shop") }, cases)
}

// spec of a Trigger that hears of a namespace and tells a Service in another; more of
// the subscriber may follow.
func spec(filter, subscriber, more string, ofSubscriber ...string) string {
	extra := ""
	for _, s := range ofSubscriber {
		extra += s
	}
	return "{broker: sluice, filters: [{exact: {namespace: " + filter + "}}], subscriber: {ref: {apiVersion: v1, kind: Service, name: x, namespace: " + subscriber + "}" + extra + "}" + more + "}"
}
