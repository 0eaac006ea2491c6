// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/test/pipelinetest/fixture"
)

// secretShop has a Secret that is in force in member1.
func secretShop(t *testing.T) *api {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("secrets").Selecting(policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Secret"}).To("member1")
	hub.policy(p)
	hub.propagated(fixture.Secret("password").Holding("key", "b2xk"), p)
	return hub
}

const changedNginx = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx%s}, spec: {replicas: 5}}"

func nginxFile(more string) string { return strings.Replace(changedNginx, "%s", more, 1) }

// What members would get of a template of a file.
func TestDiffOfATemplate(t *testing.T) {
	web := fixture.Policy("web").Kind().To("member1", "member2")
	const replicas = `
		@@ -4,4 +4,4 @@
		name: nginx
		namespace: shop
		spec:
		- replicas: 2
		+ replicas: 5`
	const none = "0 templates change in members; 1 other stays as it is."
	const one = "\n1 template changes in members; 0 others stay as they are."
	for sentence, tc := range map[string]struct {
		given func(hub *api)
		file  string
		want  string
	}{
		"that changed": {
			given: func(hub *api) { hub.policy(web); hub.propagated(fixture.Deployment("nginx"), web) }, file: nginxFile(""),
			want: "deployment/nginx in shop\nmember1, member2 would change" + replicas + one,
		},
		"where an override has the last word, members differ": {
			given: func(hub *api) {
				hub.policy(web)
				hub.propagated(fixture.Deployment("nginx"), web)
				hub.overridden("o", "gold", "member2")
			},
			file: nginxFile(""),
			want: "deployment/nginx in shop\nmember1 would change" + replicas +
				"\nmember2 would change" + strings.Replace(replicas, "-4,4 +4,4", "-6,4 +6,4", 1) + one,
		},
		"as it is": {
			given: func(hub *api) { hub.policy(web); hub.propagated(fixture.Deployment("nginx"), web) },
			file:  strings.Replace(nginxFile(""), "5", "2", 1), want: none,
		},
		"that is held back": {
			given: func(hub *api) {
				p := fixture.Policy("web").Kind().To("member1", "member2").Suspending("member2")
				hub.policy(p)
				hub.propagated(fixture.Deployment("nginx"), p)
			},
			file: nginxFile(""),
			want: "deployment/nginx in shop\nmember1, member2 would change (held back in member2)" + replicas + one,
		},
		"that is new": {
			given: func(hub *api) { hub.policy(web) }, file: nginxFile(""),
			want: `deployment/nginx in shop
				member1, member2 would get it
				@@ -0,0 +1,7 @@
				+apiVersion: apps/v1
				+kind: Deployment
				+metadata:
				+ name: nginx
				+ namespace: shop
				+spec:
				+ replicas: 5` + one,
		},
		"that nobody would hold": {given: func(*api) {}, file: nginxFile(""), want: none},
		"that loses the label by which it is selected": {
			given: func(hub *api) {
				p := fixture.Policy("web").Labelled("tier", "web").To("member1")
				hub.policy(p)
				hub.propagated(fixture.Deployment("nginx").Label("tier", "web"), p)
			},
			file: nginxFile(", labels: {tier: null}"), want: none,
		},
		"whose lazy policy comes along with the change": {
			given: func(hub *api) {
				hub.policy(fixture.Policy("web").Kind().Lazy().To("member2").Generation(2))
				hub.propagated(fixture.Deployment("nginx"), fixture.Policy("web").Kind().Lazy().To("member1"))
			},
			file: nginxFile(""),
			want: `deployment/nginx in shop
				member1 would lose it
				@@ -1,7 +0,0 @@
				-apiVersion: apps/v1
				-kind: Deployment
				-metadata:
				- name: nginx
				- namespace: shop
				-spec:
				- replicas: 2
				member2 would get it
				@@ -0,0 +1,7 @@
				+apiVersion: apps/v1
				+kind: Deployment
				+metadata:
				+ name: nginx
				+ namespace: shop
				+spec:
				+ replicas: 5` + one,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			tc.given(hub)
			before := hub.refs()
			a := runWith(t, hub, tc.file, "diff", "-f", "-")
			a.wants(t, "")
			wantText(t, tc.want, a.out)
			if after := hub.refs(); !slices.Equal(before, after) {
				t.Errorf("it wrote: %q, and before %q", after, before)
			}
		})
	}
}

// A kubectl apply takes away what the file said before, and leaves what it never said.
func TestDiffOfATemplateIsWhatApplyWouldDo(t *testing.T) {
	hub := serve(t, "hub").shop()
	web := fixture.Policy("web").Kind().To("member1")
	hub.policy(web)
	said := `{"metadata":{"labels":{"said":"before","says":"now"}},"spec":{"replicas":2,"paused":true}}`
	object := fixture.Deployment("nginx").Label("said", "before").Label("says", "now").Label("by", "another").Annotation("kubectl.kubernetes.io/last-applied-configuration", said)
	hub.propagated(object.Spec("paused", true), web)
	a := runWith(t, hub, nginxFile(", labels: {says: now}"), "diff", "-f", "-", "-o", "json")
	a.wants(t, "")
	var got struct{ Rewrites []explaining.Rewrite }
	if err := json.Unmarshal([]byte(a.out), &got); err != nil || len(got.Rewrites) != 1 {
		t.Fatalf("got %v of %s", err, a.out)
	}
	diff := got.Rewrites[0].Diff
	for _, gone := range []string{"-    said: before", "-  paused: true", "-  replicas: 2", "+  replicas: 5"} {
		if !strings.Contains(diff, gone) {
			t.Errorf("no %q in\n%s", gone, diff)
		}
	}
	if strings.Contains(diff, "-    by: another") {
		t.Errorf("what the file never said goes in\n%s", diff)
	}
}

// An override of a file, of each template that it concerns or did.
func TestDiffOfAnOverride(t *testing.T) {
	hub := serve(t, "hub").shop()
	web := fixture.Policy("web").Kind().To("member1", "member2")
	hub.policy(web)
	hub.propagated(fixture.Deployment("nginx"), web)
	hub.propagated(fixture.Deployment("other"), web)
	hub.overridden("labels", "silver", "member2")
	const two = "\n2 templates change in members; 0 others stay as they are."
	gets := func(member string) string {
		return "\n" + member + ` would change
			@@ -1,6 +1,8 @@
			apiVersion: apps/v1
			kind: Deployment
			metadata:
			+ labels:
			+ tier: gold
			name: NAME
			namespace: shop
			spec:`
	}
	loses := `
		member2 would change
		@@ -1,8 +1,6 @@
		apiVersion: apps/v1
		kind: Deployment
		metadata:
		- labels:
		- tier: silver
		name: NAME
		namespace: shop
		spec:`
	both := func(text string) string {
		text = "deployment/NAME in shop" + text
		return strings.ReplaceAll(text, "NAME", "nginx") + "\n" + strings.ReplaceAll(text, "NAME", "other") + two
	}
	for sentence, tc := range map[string]struct{ file, want string }{
		"in addition":            {overrideFile("new", "gold", "member1"), both(gets("member1"))},
		"that is there":          {overrideFile("labels", "silver", "member2"), "0 templates change in members; 2 others stay as they are."},
		"that is for another":    {overrideFile("labels", "gold", "member1"), both(gets("member1") + loses)},
		"that selects nothing":   {strings.Replace(overrideFile("new", "gold", "member1"), "kind: Deployment", "kind: StatefulSet", 1), "0 templates change in members; 0 others stay as they are."},
		"that fails":             {`{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: all}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}], overrideRules: [{overriders: {plaintext: [{path: /spec/none/x, operator: replace, value: 1}]}}]}}`, "deployment/nginx in shop\nmember1, member2 would keep what it has, for it cannot be rendered\noverride cluster policy all: path /spec/none/x: there is no \"none\"\n0 templates change in members; 1 cannot be rendered; 0 others stay as they are."},
		"and a template at once": {overrideFile("new", "gold", "member1") + "\n---\n" + nginxFile(""), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := runWith(t, hub, tc.file, "diff", "-f", "-")
			a.wants(t, "")
			if tc.want != "" {
				wantText(t, tc.want, a.out)
				return
			}
			for _, part := range []string{"+  replicas: 5", "+    tier: gold", "deployment/nginx in shop", "deployment/other in shop"} {
				if !strings.Contains(a.out, part) {
					t.Errorf("no %q in\n%s", part, a.out)
				}
			}
		})
	}
	runWith(t, hub, strings.Replace(overrideFile("new", "gold", "member1"), "overrideRules", "overrideRule", 1), "diff", "-f", "-").wants(t, `unknown field "spec.overrideRule"`)
	runWith(t, hub, `{apiVersion: v1, kind: Event, metadata: {name: x}}`, "diff", "-f", "-").wants(t, "never carried")
}

// What a Secret holds is never shown, not even in a diff.
func TestDiffHidesSecrets(t *testing.T) {
	hub := secretShop(t)
	a := runWith(t, hub, `{apiVersion: v1, kind: Secret, metadata: {name: password}, data: {key: bmV3}}`, "diff", "-f", "-")
	a.wants(t, "")
	if strings.Contains(a.out, "b2xk") || strings.Contains(a.out, "bmV3") || !strings.Contains(a.out, "+  key: '*** (after)'") {
		t.Errorf("got %s", a.out)
	}
}
