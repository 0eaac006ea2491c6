// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/test/pipelinetest/fixture"
)

// A policy that names kinds without a namespace is in nobody's way who asks for one namespace.
func TestGetInANamespaceBesideAPolicyForClusterScopedKinds(t *testing.T) {
	hub := shopInEachState(t)
	hub.put("v1/Namespace/shop", map[string]any{})
	roles := policyv1alpha1.ResourceSelector{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "not-there"}
	hub.policy(fixture.ClusterPolicy("roles").Selecting(roles).To("member1"))
	hub.refuse = failing("/namespaces/shop/clusterroles", 404) // as an API server does
	for _, args := range []string{"get -n shop -o name", "get -n shop -o name -l tier!=none"} {
		a := run(t, hub, strings.Fields(args)...)
		a.wants(t, "")
		if !strings.Contains(a.out, "deployment.apps/late") || strings.Contains(a.err, "not shown") {
			t.Errorf("%s: %s%s", args, a.out, a.err)
		}
	}
}

func TestGetByLabels(t *testing.T) {
	hub := shopInEachState(t)
	hub.put("v1/Namespace/shop", map[string]any{})
	label := func(ref string) {
		u := hub.get(ref)
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["tier"] = "web"
		u.SetLabels(labels)
		hub.put(ref, u.Object)
	}
	label("apps/v1/Deployment/shop/fine")
	label("apps/v1/Deployment/shop/late") // was never propagated
	label("rbac.authorization.k8s.io/v1/ClusterRole/shop")
	for _, name := range []string{"web", "other"} {
		hub.put(crpRef+name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": name}}})
	}
	hub.propagated(fixture.Deployment("gone"), fixture.Policy("web").Kind().To("member1"))
	hub.remove("apps/v1/Deployment/shop/gone")
	for args, want := range map[string]string{
		"get -o name -l tier=web":        "deployment.apps/fine\ndeployment.apps/late",
		"get -o name -l tier!=web":       "deployment.apps/broken\ndeployment.apps/waits",
		"get -A -o name -l tier":         "deployment.apps/fine\nclusterrole.rbac.authorization.k8s.io/shop\ndeployment.apps/late",
		"get deploy -o name -l tier=web": "deployment.apps/fine\ndeployment.apps/late",
		"get crp -o name -l tier=web":    "clusterresourceplacement.placement.kubernetes-fleet.io/web",
	} {
		t.Run(args, func(t *testing.T) {
			a := run(t, hub, strings.Fields(args)...)
			a.wants(t, "")
			wantText(t, want, a.out)
		})
	}
	both := run(t, hub, "get", "-l", "tier=web")
	both.wants(t, "")
	if !strings.Contains(both.out, "fine") || !strings.Contains(both.out, "\nweb ") || strings.Contains(both.out, "other") || strings.Contains(both.out, "waits") {
		t.Error(both.out)
	}
	for args, want := range map[string]string{
		"get deploy/fine -l tier=web": "by name or with -l, not by both",
		"get -l tier===":              "-l tier===",
		"get removals -l tier=web":    "not by labels",
	} {
		run(t, hub, strings.Fields(args)...).wants(t, want)
	}
	none := run(t, hub, "get", "-l", "tier=nobody")
	none.wants(t, "")
	if !strings.Contains(none.err, "Nothing that is propagated has the labels tier=nobody") {
		t.Errorf("said %q", none.err)
	}
}
