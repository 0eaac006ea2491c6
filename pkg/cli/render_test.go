// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/test/pipelinetest/fixture"
)

const overrideRef = "policy.karmada.io/v1alpha1/"

// labelling is an override that puts a label on what members get of a Deployment.
func labelling(value, cluster string) string {
	return `{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], overrideRules: [{
		targetCluster: {clusterNames: [` + cluster + `]}, overriders: {labelsOverrider: [{operator: add, value: {tier: ` + value + `}}]}}]}`
}

func overrideFile(name, value, cluster string) string {
	return "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: " + name + "}, spec: " + labelling(value, cluster) + "}"
}

// overridden stores an override of the namespace shop.
func (a *api) overridden(name, value, cluster string) {
	a.put(overrideRef+"OverridePolicy/shop/"+name, map[string]any{"spec": policyv1alpha1.OverrideSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}},
		OverrideRules: []policyv1alpha1.RuleWithCluster{{
			TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}},
			Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
				{Operator: policyv1alpha1.OverriderOpAdd, Value: map[string]string{"tier": value}},
			}},
		}},
	}})
}

// divided divides the replicas among the members.
func divided(p fixture.PolicyBuilder) fixture.PolicyBuilder {
	return p.Dividing(policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
	})
}

func TestRender(t *testing.T) {
	const plain = `
		apiVersion: apps/v1
		kind: Deployment
		metadata:
		annotations:
		propagationpolicy.karmada.io/name: web
		propagationpolicy.karmada.io/namespace: shop
		labels:
		resourcebinding.karmada.io/permanent-id: ID
		name: nginx
		namespace: shop
		spec:
		replicas: `
	tiered := func(value, replicas string) string {
		return strings.Replace(plain, "name: nginx", "tier: "+value+"\nname: nginx", 1) + replicas
	}
	for sentence, tc := range map[string]struct {
		args, file string
		want       string
		fails      string
		notes      string
	}{
		"what is in force":                             {args: "--cluster member1", want: plain + "1"},
		"with what an override on the hub does":        {args: "--cluster member2", want: tiered("silver", "1")},
		"with one that is not applied":                 {args: "--cluster member1 --with -", file: overrideFile("new", "gold", "member1"), want: tiered("gold", "1")},
		"in place of the one of that name":             {args: "--cluster member2 --with -", file: overrideFile("labels", "gold", "member1"), want: plain + "1"},
		"one that does not select it":                  {args: "--cluster member1 --with -", file: strings.Replace(overrideFile("new", "gold", "member1"), "kind: Deployment", "kind: StatefulSet", 1), want: plain + "1", notes: "does not select deployment/nginx in shop, and changes nothing here"},
		"a member that does not get it":                {args: "--cluster member3", fails: "member3 gets nothing of deployment/nginx in shop: it is not in clusterNames"},
		"a cluster that has not joined":                {args: "--cluster member7", fails: "cluster member7 has not joined: 'kubectl sluice get clusters' lists those that have"},
		"no member":                                    {args: "", fails: "--cluster is missing: it names the member"},
		"a field that is not there":                    {args: "--cluster member1 --with -", file: strings.Replace(overrideFile("new", "gold", "member1"), "labelsOverrider", "labelOverrider", 1), fails: `unknown field "spec.overrideRules[0].overriders.labelOverrider"`},
		"a path that is not there":                     {args: "--cluster member1 --with -", file: `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: all}, spec: {overrideRules: [{overriders: {plaintext: [{path: /spec/none/x, operator: replace, value: 1}]}}]}}`, fails: "path /spec/none/x"},
		"a file of something else":                     {args: "--cluster member1 --with -", file: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, fails: `- holds a ConfigMap "x": --with takes an override policy, of either scope, with a name`},
		"a file of two":                                {args: "--cluster member1 --with -", file: overrideFile("a", "a", "member1") + "\n---\n" + overrideFile("b", "b", "member1"), fails: "- holds 2 objects: --with takes one override policy"},
		"an empty file":                                {args: "--cluster member1 --with -", fails: "- holds 0 objects"},
		"a file that is not there":                     {args: "--cluster member1 --with /none/override.yaml", fails: "open /none/override.yaml: no such file"},
		"an override without a name, which has no key": {args: "--cluster member1 --with -", file: overrideFile(`""`, "gold", "member1"), fails: "with a name"},
	} {
		t.Run(sentence, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			hub.policy(divided(fixture.Policy("web").To("member1", "member2")))
			id := hub.propagated(fixture.Deployment("nginx"), divided(fixture.Policy("web").To("member1", "member2"))).PermanentID()
			hub.overridden("labels", "silver", "member2")
			before := hub.refs()
			a := runWith(t, hub, tc.file, append([]string{"render", "deploy/nginx"}, strings.Fields(tc.args)...)...)
			a.wants(t, tc.fails)
			if tc.fails == "" {
				wantText(t, strings.Replace(tc.want, "ID", id, 1), a.out)
			}
			if !strings.Contains(a.err, tc.notes) || tc.notes == "" && tc.fails == "" && a.err != "" {
				t.Errorf("want the note %q, got %q", tc.notes, a.err)
			}
			if after := hub.refs(); !slices.Equal(before, after) {
				t.Errorf("it wrote: %q, and before %q", after, before)
			}
		})
	}
}

// Who may not write overrides may try them.
func TestRenderWithoutTheRightToOverride(t *testing.T) {
	hub := serve(t, "hub").shop()
	hub.policy(fixture.Policy("web").To("member1"))
	hub.propagated(fixture.Deployment("nginx"), fixture.Policy("web").To("member1"))
	hub.refuse = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPost {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "overridepolicies"}, "new", nil)
		}
		return nil
	}
	args := []string{"render", "deploy/nginx", "--cluster", "member1", "--with", "-"}
	a := runWith(t, hub, overrideFile("new", "gold", "member1"), args...)
	a.wants(t, "")
	if !strings.Contains(a.out, "tier: gold") || !strings.Contains(a.err, "You may not write override policies") {
		t.Errorf("got %q and %q", a.out, a.err)
	}
	a = runWith(t, hub, strings.Replace(overrideFile("new", "gold", "member1"), "operator", "operatr", 1), args...)
	a.wants(t, `unknown field "spec.overrideRules[0].overriders.labelsOverrider[0].operatr"`)
}

// What waits is shown only where it is asked for.
func TestRenderWhatWaits(t *testing.T) {
	hub := explainShop(t)
	a := run(t, hub, "render", "deploy/nginx", "--cluster", "member2")
	a.wants(t, "member2 gets nothing of deployment/nginx in shop: it is not in clusterNames")
	if !strings.Contains(a.err, "Something waits, and is not shown (--released shows it): policy shop/web, generation 2") {
		t.Errorf("nothing is said of what waits: %q", a.err)
	}
	a = run(t, hub, "render", "deploy/nginx", "--cluster", "member2", "--released", "-o", "json")
	a.wants(t, "")
	if !strings.Contains(a.out, `"name": "nginx"`) || a.err != "" {
		t.Errorf("got %q and %q", a.out, a.err)
	}
	run(t, hub, "render", "deploy/none", "--cluster", "member2").wants(t, "deployment/none not found in namespace shop")
}

// What a Secret holds is shown to who asks for it.
func TestRenderHidesSecrets(t *testing.T) {
	hub := secretShop(t)
	args := []string{"render", "secret/password", "--cluster", "member1"}
	for more, value := range map[string]string{"": "'***'", "--show-secrets": "b2xk"} {
		a := run(t, hub, append(args, strings.Fields(more)...)...)
		a.wants(t, "")
		if !strings.Contains(a.out, "data:\n  key: "+value+"\nkind: Secret\n") {
			t.Errorf("%q: no value %s in\n%s", more, value, a.out)
		}
	}
}
