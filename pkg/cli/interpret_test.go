// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

const (
	aWidget   = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: blue, namespace: shop}, spec: {size: 6, uses: colours}, status: {ready: 6}}`
	itsRules  = `{replicas: {path: spec.size}, health: {expression: object.status.ready == object.spec.size}, status: {expression: "{'ready': object.status.ready}"}, aggregatedStatus: {expression: "{'ready': members.map(m, m.status.ready).sum()}"}, memberFields: [spec.paused], dependencies: {expression: "[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': object.spec.uses}]"}}`
	ofWidgets = `{apiVersion: config.sluice.dev/v1alpha1, kind: ResourceInterpreter, metadata: {name: widgets}, spec: {target: {apiVersion: example.com/v1, kind: KIND}, rules: `
)

// offline runs a command that is to need no hub, in a directory with these files.
func offline(t *testing.T, files map[string]string, args string) answer {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(files["-"]), Out: &out, ErrOut: &errOut}
	code := Run(t.Context(), streams, append(strings.Fields(strings.ReplaceAll(args, "DIR", dir)), "--kubeconfig", filepath.Join(dir, "none")))
	return answer{code, strings.ReplaceAll(out.String(), dir+"/", ""), strings.ReplaceAll(errOut.String(), dir+"/", "")}
}

func TestInterpretOffline(t *testing.T) {
	files := func(rules string) map[string]string {
		return map[string]string{
			"w.yaml": aWidget, "i.yaml": strings.Replace(ofWidgets, "KIND", "Widget", 1) + rules + "}}",
			"gadgets.yaml": strings.Replace(ofWidgets, "KIND", "Gadget", 1) + rules + "}}",
			"m1.yaml":      strings.Replace(aWidget, "ready: 6", "ready: 4", 1), "m2.yaml": `{ready: 1}`,
			"two.yaml": aWidget + "\n---\n" + aWidget, "kindless.yaml": "{spec: {size: 1}}",
		}
	}
	const with = "interpret -f DIR/w.yaml --with DIR/i.yaml"
	for sentence, tc := range map[string]struct {
		args, rules string
		want        string
		fails       string
	}{
		"all that is known": {with, itsRules, `
			object widget.example.com/blue
			rules i.yaml
			replicas 6
			health Healthy
			status {"ready":6}
			memberFields spec.paused
			dependencies configmap/colours in shop`, ""},
		"with what members have": {with + " --members DIR/m1.yaml,DIR/m2.yaml", `{aggregatedStatus: {expression: "{'ready': members.map(m, m.status.ready).sum(), 'where': members.map(m, m.cluster)}"}}`, `
			object widget.example.com/blue
			rules i.yaml
			replicas 0
			health Unknown
			status {"ready":6}
			aggregatedStatus {"ready":5,"where":["m1","m2"]}
			memberFields -
			dependencies -`, ""},
		"a rule that fails": {with, `{health: {expression: object.status.phase == 'a'}, dependencies: {expression: "[1]"}}`, `
			object widget.example.com/blue
			rules i.yaml
			replicas 0
			health error: spec.rules.health.expression: object.status.phase == 'a': no such key: phase
			status {"ready":6}
			memberFields -
			dependencies error: spec.rules.dependencies.expression: says 1: want {apiVersion, kind, name}, and no namespace but the object's`, "2 rules of i.yaml failed"},
		"a rule that is wrong": {with, `{health: {expression: oops(}}`, `
			object widget.example.com/blue
			rules i.yaml
			replicas 0
			health error: spec.rules.health.expression: does not compile: ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>'`, "1 rule of i.yaml failed"},
		"a field of the member that is none": {with, `{memberFields: [status.x]}`, "", `i.yaml: spec.rules.memberFields[0]: "status.x" is not below spec`},
		"a field that does not exist":        {with, `{helth: {expression: "true"}}`, "", `unknown field "spec.rules.helth"`},
		"rules of another kind":              {"interpret -f DIR/w.yaml --with DIR/gadgets.yaml", itsRules, "", "gadgets.yaml has rules for Gadget.example.com, and w.yaml is a Widget.example.com"},
		"no rules at all":                    {"interpret -f DIR/w.yaml --with DIR/w.yaml", itsRules, "", `w.yaml holds a Widget "blue": --with takes a ResourceInterpreter of config.sluice.dev/v1alpha1`},
		"two objects":                        {"interpret -f DIR/two.yaml --with DIR/i.yaml", itsRules, "", "two.yaml holds 2 objects: want one"},
		"what is no object":                  {"interpret -f DIR/kindless.yaml --with DIR/i.yaml", itsRules, "", "kindless.yaml: apiVersion or kind is missing"},
		"no file":                            {"interpret", itsRules, "", "-f is missing: it names a file with the object"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := offline(t, files(tc.rules), tc.args)
			a.wants(t, tc.fails)
			got, want := strings.Join(strings.Fields(a.out), " "), strings.Join(strings.Fields(tc.want), " ")
			if !strings.HasPrefix(got, want) || tc.want == "" && got != "" {
				t.Errorf("want\n%s\ngot\n%s", want, got)
			}
		})
	}
}

func TestInterpretAsTheHubSays(t *testing.T) {
	hub := serve(t, "hub").shop()
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: shop}, spec: {replicas: 3}}`
	a := runWith(t, hub, deployment, "interpret", "-f", "-", "-o", "yaml")
	a.wants(t, "")
	wantText(t, "health: Unhealthy\nobject: deployment/nginx\nreplicas: 3\nrules: 'none: what Sluice knows of the kind, or of all kinds'", a.out)
	hub.put("config.sluice.dev/v1alpha1/ResourceInterpreter/deployments", map[string]any{"spec": map[string]any{
		"target": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"},
		"rules":  map[string]any{"health": map[string]any{"expression": "'Healthy'"}},
	}})
	a = runWith(t, hub, deployment, "interpret", "-f", "-", "-o", "yaml")
	a.wants(t, "")
	wantText(t, "health: Healthy\nobject: deployment/nginx\nreplicas: 3\nrules: ResourceInterpreter deployments", a.out)
}

// The example is what it says it is.
func TestInterpretOfTheExample(t *testing.T) {
	const dir = "../../examples/interpreter/"
	a := offline(t, nil, "interpret -f "+dir+"object/widget.yaml --with "+dir+"interpreter.yaml --members "+dir+"members/member1.yaml,"+dir+"members/member2.yaml -o json")
	a.wants(t, "")
	for _, want := range []string{`"replicas": 6`, `"configmap/colours in default"`, `"ready": 5`, `"spec.paused"`} {
		if !strings.Contains(a.out, want) {
			t.Errorf("%s is not in\n%s", want, a.out)
		}
	}
}
