// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

const nginx = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: shop, labels: {app: nginx}}, spec: {replicas: 3, template: {spec: {
	containers: [{name: web, image: "nginx:1.25", command: [run, fast]}, {name: log, image: registry.example/tools/log}], initContainers: [{name: init, image: "tools/init@sha256:0a"}]}}}}`

// both names the scope and the key of an override of either scope.
func both(name string, scope propagation.Scope) propagation.PolicyKey {
	if scope == propagation.Namespaced {
		return propagation.PolicyKey{Scope: scope, Namespace: "shop", Name: name}
	}
	return propagation.PolicyKey{Scope: scope, Name: name}
}

func TestOverriders(t *testing.T) {
	const config = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {app.json: '{"a":{"b":[1,12345678901234567]}}', app.yaml: "a:\n  b: 1\n", text: "a: {"}}`
	for name, tc := range map[string]struct {
		content string // nginx where empty
		spec    string
		path    string
		want    any // the value at the path; an error says the part of its message
	}{
		"plaintext replaces":                             {spec: `{overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 7}]}}`, path: "/spec/replicas", want: int64(7)},
		"plaintext adds where there is nothing":          {spec: `{overriders: {plaintext: [{path: /metadata/labels/a~1b, operator: add, value: x}]}}`, path: "/metadata/labels", want: map[string]any{"app": "nginx", "a/b": "x"}},
		"plaintext removes":                              {spec: `{overriders: {plaintext: [{path: /spec/replicas, operator: remove}]}}`, path: "/spec/replicas", want: errors.New(`there is no "replicas"`)},
		"plaintext inserts into a list":                  {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/0/command/1, operator: add, value: very}]}}`, path: "/spec/template/spec/containers/0/command", want: []any{"run", "very", "fast"}},
		"plaintext appends to a list":                    {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/0/command/-, operator: add, value: now}]}}`, path: "/spec/template/spec/containers/0/command", want: []any{"run", "fast", "now"}},
		"plaintext removes from a list":                  {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/1, operator: remove}, {path: /spec/template/spec/containers/0/command/0, operator: remove}]}}`, path: "/spec/template/spec/containers", want: []any{map[string]any{"name": "web", "image": "nginx:1.25", "command": []any{"fast"}}}},
		"a path that is not there is an error":           {spec: `{overriders: {plaintext: [{path: /spec/paused/x, operator: replace, value: 1}]}}`, want: errors.New(`override policy shop/o: path /spec/paused/x: there is no "paused"`)},
		"a place behind the end of a list is an error":   {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/2, operator: replace, value: 1}]}}`, want: errors.New("the list ends before 2")},
		"a place that is none is an error":               {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/01, operator: replace, value: 1}]}}`, want: errors.New(`"01" is no place in a list`)},
		"a path into a number is an error":               {spec: `{overriders: {plaintext: [{path: /spec/replicas/x, operator: add, value: 1}]}}`, want: errors.New("neither an object nor a list")},
		"a path that does not start with / is an error":  {spec: `{overriders: {plaintext: [{path: spec, operator: add, value: 1}]}}`, want: errors.New("a path starts with /")},
		"the whole object cannot be replaced by a value": {spec: `{overriders: {plaintext: [{path: "", operator: replace, value: 1}]}}`, want: errors.New("the object would be none any more")},
		"an override cannot rename an object":            {spec: `{overriders: {plaintext: [{path: /metadata/name, operator: replace, value: other}]}}`, want: errors.New("override policy shop/o: changes the name or the namespace")},
		"nor give it an owner, who would not be there":   {spec: `{overriders: {plaintext: [{path: /metadata/ownerReferences, operator: add, value: [{apiVersion: v1, kind: ConfigMap, name: c, uid: u}]}]}}`, want: errors.New("override policy shop/o: sets metadata.ownerReferences: of the metadata, only labels and annotations can be overridden")},
		"nor a finalizer, which nobody would take off":   {spec: `{overriders: {plaintext: [{path: /metadata/finalizers, operator: add, value: [a/b]}]}}`, want: errors.New("sets metadata.finalizers")},
		"an override cannot make another kind":           {spec: `{overriders: {plaintext: [{path: /kind, operator: replace, value: Pod}]}}`, want: errors.New("changes the kind")},
		"the registry of all images":                     {spec: `{overriders: {imageOverrider: [{component: Registry, operator: replace, value: mirror.example}]}}`, path: "/spec/template/spec/containers/1/image", want: "mirror.example/tools/log"},
		"init containers too, whose digest stays":        {spec: `{overriders: {imageOverrider: [{component: Registry, operator: add, value: mirror.example}]}}`, path: "/spec/template/spec/initContainers/0/image", want: "mirror.example/tools/init@sha256:0a"},
		"the tag of one image":                           {spec: `{overriders: {imageOverrider: [{predicate: {path: /spec/template/spec/containers/0/image}, component: Tag, operator: replace, value: "1.27"}]}}`, path: "/spec/template/spec/containers/0/image", want: "nginx:1.27"},
		"a predicate on no image is an error":            {spec: `{overriders: {imageOverrider: [{predicate: {path: /spec/replicas}, component: Tag, operator: remove}]}}`, want: errors.New("path /spec/replicas: is no image name")},
		"images of a kind without pods are none":         {content: config, spec: `{overriders: {imageOverrider: [{component: Tag, operator: remove}]}}`, path: "/data/text", want: "a: {"},
		"words are appended to a command":                {spec: `{overriders: {commandOverrider: [{containerName: web, operator: add, value: [-v]}]}}`, path: "/spec/template/spec/containers/0/command", want: []any{"run", "fast", "-v"}},
		"words are removed from a command":               {spec: `{overriders: {commandOverrider: [{containerName: web, operator: remove, value: [run, gone]}]}}`, path: "/spec/template/spec/containers/0/command", want: []any{"fast"}},
		"arguments where there were none":                {spec: `{overriders: {argsOverrider: [{containerName: init, operator: add, value: [-x]}]}}`, path: "/spec/template/spec/initContainers/0/args", want: []any{"-x"}},
		"a container that is not there changes nothing":  {spec: `{overriders: {argsOverrider: [{containerName: no, operator: add, value: [-x]}]}}`, path: "/spec/replicas", want: int64(3)},
		"a label is added and one replaced":              {spec: `{overriders: {labelsOverrider: [{operator: add, value: {tier: front}}, {operator: replace, value: {app: web, none: x}}]}}`, path: "/metadata/labels", want: map[string]any{"app": "web", "tier": "front"}},
		"a label is removed where its value is the same": {spec: `{overriders: {labelsOverrider: [{operator: remove, value: {app: other}}]}}`, path: "/metadata/labels", want: map[string]any{"app": "nginx"}},
		"the last label takes the labels with it":        {spec: `{overriders: {labelsOverrider: [{operator: remove, value: {app: nginx}}]}}`, path: "/metadata/labels", want: errors.New(`there is no "labels"`)},
		"annotations where there were none":              {spec: `{overriders: {annotationsOverrider: [{operator: add, value: {a: b}}]}}`, path: "/metadata/annotations", want: map[string]any{"a": "b"}},
		"a JSON document, its great numbers kept": {content: config, spec: `{overriders: {fieldOverrider: [{fieldPath: /data/app.json, json: [{subPath: /a/b/0, operator: replace, value: 2}, {subPath: /a/c, operator: add, value: {d: true}}]}]}}`,
			path: "/data/app.json", want: `{"a":{"b":[2,12345678901234567],"c":{"d":true}}}`},
		"a YAML document":                   {content: config, spec: `{overriders: {fieldOverrider: [{fieldPath: /data/app.yaml, yaml: [{subPath: /a/b, operator: replace, value: two}]}]}}`, path: "/data/app.yaml", want: "a:\n  b: two\n"},
		"a document that is none":           {content: config, spec: `{overriders: {fieldOverrider: [{fieldPath: /data/text, yaml: [{subPath: /a, operator: remove}]}]}}`, want: errors.New("path /data/text: is no YAML")},
		"a sub path that is not there":      {content: config, spec: `{overriders: {fieldOverrider: [{fieldPath: /data/app.json, json: [{subPath: /x, operator: remove}]}]}}`, want: errors.New(`path /data/app.json: sub path /x: there is no "x"`)},
		"a document that is no string":      {spec: `{overriders: {fieldOverrider: [{fieldPath: /spec/replicas, json: [{subPath: /x, operator: remove}]}]}}`, want: errors.New("is no string")},
		"plaintext comes after the image":   {spec: `{overriders: {plaintext: [{path: /spec/template/spec/containers/0/image, operator: replace, value: "mine:1"}], imageOverrider: [{component: Tag, operator: replace, value: "2"}]}}`, path: "/spec/template/spec/containers/0/image", want: "mine:1"},
		"a rule for another cluster is not": {spec: `{overrideRules: [{targetCluster: {clusterNames: [member2]}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 7}]}}]}`, path: "/spec/replicas", want: int64(3)},
		"rules are applied one after the other": {spec: `{overrideRules: [{targetCluster: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [north]}]}}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 7}]}},
			{targetCluster: {labelSelector: {matchLabels: {env: prod}}}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 8}]}}, {targetCluster: {exclude: [member1]}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 9}]}}]}`, path: "/spec/replicas", want: int64(8)},
		"the deprecated form has a target too": {spec: `{targetCluster: {clusterNames: [member2]}, overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 7}]}}`, path: "/spec/replicas", want: int64(3)},
	} {
		t.Run(name, func(t *testing.T) {
			doc := tc.content
			if doc == "" {
				doc = nginx
			}
			content := object(t, doc)
			o := propagation.Override{Key: both("o", propagation.Namespaced), Spec: overrideSpec(t, tc.spec)}
			got, err := Manifest(kinds.Table{}, content, member1(), keyOf(content), []propagation.Override{o}, nil)
			var value any
			if err == nil {
				tokens, _ := parsePointer(tc.path)
				value, err = find(got, tokens)
			}
			if want, isError := tc.want.(error); isError {
				if err == nil || !strings.Contains(err.Error(), want.Error()) {
					t.Errorf("error %v, want %v", err, want)
				}
			} else if diff := cmp.Diff(tc.want, value); err != nil || diff != "" {
				t.Errorf("error %v; %s (-want +got):\n%s", err, tc.path, diff)
			}
			if diff := cmp.Diff(object(t, doc), content); diff != "" {
				t.Errorf("the content was changed:\n%s", diff)
			}
		})
	}
}

func TestOrderOfOverrides(t *testing.T) {
	// Each override appends its name: what comes out is the order.
	build := func(name string, scope propagation.Scope, selector *policyv1alpha1.ResourceSelector) propagation.Override {
		o := propagation.Override{Key: both(name, scope), Spec: overrideSpec(t, `{overriders: {argsOverrider: [{containerName: web, operator: add, value: [`+name+`]}]}}`)}
		if selector != nil {
			o.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{*selector}
		}
		return o
	}
	kind := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
	named, labelled, other := kind, kind, kind
	named.Name, other.Name = "nginx", "other"
	labelled.LabelSelector = overrideLabels("app", "nginx")
	elsewhere := build("elsewhere", propagation.Namespaced, nil)
	elsewhere.Key.Namespace = "other"

	content := object(t, nginx)
	got, err := Manifest(kinds.Table{}, content, member1(), keyOf(content), []propagation.Override{
		build("n-name", propagation.Namespaced, &named), build("n-any", propagation.Namespaced, nil), elsewhere,
		build("c-name", propagation.Cluster, &named), build("c-b-kind", propagation.Cluster, &kind), build("c-a-kind", propagation.Cluster, &kind),
		build("c-labels", propagation.Cluster, &labelled), build("c-any", propagation.Cluster, nil), build("c-other", propagation.Cluster, &other),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"c-any", "c-a-kind", "c-b-kind", "c-labels", "c-name", "n-any", "n-name"}
	if diff := cmp.Diff(want, containers(got)[0]["args"]); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAnOverrideErrorSaysWhich(t *testing.T) {
	content := object(t, nginx)
	for _, scope := range propagation.Scopes {
		o := propagation.Override{Key: both("o", scope), Spec: overrideSpec(t, `{overriders: {plaintext: [{path: /x/y, operator: add, value: 1}]}}`)}
		_, err := Manifest(kinds.Table{}, content, member1(), keyOf(content), []propagation.Override{o}, nil)
		var got *OverrideError
		if !errors.As(err, &got) || got.Override != o.Key || got.Path != "/x/y" || got.Unwrap() == nil {
			t.Errorf("%s: error %#v", scope, err)
		}
	}
}

func TestImage(t *testing.T) {
	for name, tc := range map[string]struct {
		image     string
		component policyv1alpha1.ImageComponent
		operator  policyv1alpha1.OverriderOperator
		value     string
		want      string
	}{
		"a port is no tag":                     {"localhost:5000/a/b", "Tag", "add", "v1", "localhost:5000/a/b:v1"},
		"a name with a slash has no registry":  {"library/nginx:1", "Registry", "replace", "quay.io", "quay.io/library/nginx:1"},
		"localhost is a registry":              {"localhost/nginx", "Registry", "remove", "", "nginx"},
		"a registry is appended to":            {"quay.io/nginx", "Registry", "add", ":8443", "quay.io:8443/nginx"},
		"a repository is appended to":          {"quay.io/nginx:1", "Repository", "add", "-slim", "quay.io/nginx-slim:1"},
		"a repository is replaced":             {"quay.io/nginx:1", "Repository", "replace", "web/caddy", "quay.io/web/caddy:1"},
		"a tag is appended to":                 {"nginx:1", "Tag", "add", "-slim", "nginx:1-slim"},
		"a tag is removed":                     {"nginx:1", "Tag", "remove", "", "nginx"},
		"a digest takes the place of a tag":    {"nginx:1", "Tag", "replace", "sha256:0b", "nginx@sha256:0b"},
		"a tag takes the place of a digest":    {"nginx@sha256:0a", "Tag", "replace", "2", "nginx:2"},
		"tag and digest are removed":           {"nginx:1@sha256:0a", "Tag", "remove", "", "nginx"},
		"both stay where they are not touched": {"nginx:1@sha256:0a", "Registry", "replace", "quay.io", "quay.io/nginx:1@sha256:0a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := overrideImage(tc.image, policyv1alpha1.ImageOverrider{Component: tc.component, Operator: tc.operator, Value: tc.value})
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
