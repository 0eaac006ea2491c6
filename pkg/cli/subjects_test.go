// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"strings"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/test/pipelinetest/fixture"
)

// Of a kind that cannot be listed, and of one that is not served, nothing is known. What
// is known of others is told, and acted on.
func TestAKindThatCannotBeListedHidesNoOther(t *testing.T) {
	unserved := func(hub *api, now fixture.PolicyBuilder) {
		hub.policy(now.Selecting(
			policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"},
			policyv1alpha1.ResourceSelector{APIVersion: "example.com/v1", Kind: "Widget"}))
	}
	refused := func(hub *api, _ fixture.PolicyBuilder) { hub.refuse = failing("/clusterroles", 403, http.MethodGet) }
	dark := func(hub *api, _ fixture.PolicyBuilder) { hub.refuse = failing("/deployments", 403, http.MethodGet) }
	const widgets, roles, deployments = "cannot tell for Widget.example.com: ", "cannot tell for ClusterRole.rbac.authorization.k8s.io: ", "cannot tell for Deployment.apps: "
	for name, tc := range map[string]struct {
		spoil func(hub *api, now fixture.PolicyBuilder)
		file  string
		args  string
		// says is in the error, shows in the output; never is in neither.
		says, shows, never string
	}{
		"explain goes on":              {unserved, "", "explain pp/web", "", "3 templates: 3 pending", ""},
		"explain says of which":        {unserved, "", "explain pp/web", "", widgets, ""},
		"explain does not say none":    {dark, "", "explain pp/web", "", deployments, "holds no template"},
		"diff goes on":                 {unserved, planned + "---" + strings.NewReplacer("name: web", "name: widgets", "apps/v1, kind: Deployment", "example.com/v1, kind: Widget").Replace(planned), "diff -f -", widgets, "0 templates change now, 3 later", ""},
		"activate previews":            {unserved, "", "activate --policy pp/web --dry-run", widgets, "deployment/c pp/web joins member2", ""},
		"activate acts":                {unserved, "", "activate --policy pp/web --timeout 20s", widgets, "3/3 deployment/c in shop", ""},
		"activate all acts":            {refused, "", "activate all -A --timeout 20s", roles, "3/3 deployment/c in shop", ""},
		"activate does not say none":   {dark, "", "activate --policy pp/web", deployments, "", "Nothing"},
		"a preview does not, either":   {dark, "", "activate --policy pp/web --dry-run", deployments, "", "Nothing"},
		"but for what nobody asks for": {refused, "", "activate --policy pp/web --dry-run", "", "deployment/c pp/web joins member2", "cannot tell"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, now := pendingShop(t)
			tc.spoil(hub, now)
			hub.gate(now)
			a := runWith(t, hub, tc.file, strings.Fields(tc.args)...)
			a.wants(t, tc.says)
			if out := strings.Join(strings.Fields(a.out), " "); !strings.Contains(out, tc.shows) {
				t.Errorf("it shows\n%s\nwant %s", a.out, tc.shows)
			}
			if tc.never != "" && strings.Contains(a.out+a.err, tc.never) {
				t.Errorf("it says %q\n%s%s", tc.never, a.out, a.err)
			}
		})
	}
}

// A version that is not served hides nothing, if another one shows the objects.
func TestAnotherVersionOfAKindTells(t *testing.T) {
	hub, now := pendingShop(t)
	hub.policy(now.Selecting(
		policyv1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Kind: "Deployment"},
		policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}))
	a := run(t, hub, "explain", "pp/web")
	a.wants(t, "")
	if strings.Contains(a.out, "cannot tell") || !strings.Contains(a.out, "3 templates") {
		t.Error(a.out)
	}
}
