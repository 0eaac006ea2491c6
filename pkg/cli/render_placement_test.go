// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	placementv1 "sluice.dev/apis/placement/v1"
)

// givenShop is placedShop with what was rolled out: to member1 the newest snapshot, to
// member2 nothing yet.
func givenShop(t *testing.T) *api {
	t.Helper()
	hub := placedShop(t)
	snapshot := hub.get("placement.kubernetes-fleet.io/v1/ClusterResourceSnapshot/shop-1-snapshot")
	snapshot.Object["spec"] = map[string]any{"selectedResources": []any{
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}},
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "pages"}, "data": map[string]any{"page": "one"}},
		map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "token"}, "data": map[string]any{"k": "aHVudGVy"}},
	}}
	hub.put("placement.kubernetes-fleet.io/v1/ClusterResourceSnapshot/shop-1-snapshot", snapshot.Object)
	for member, state := range map[string]string{"member1": "Bound", "member2": "Scheduled"} {
		spec := map[string]any{"state": state, "targetCluster": member}
		if state == "Bound" {
			spec["resourceSnapshotName"] = "shop-1-snapshot"
		}
		hub.put("placement.kubernetes-fleet.io/v1/ClusterResourceBinding/shop-"+member, map[string]any{
			"metadata": map[string]any{"uid": "b-" + member, "labels": map[string]any{placementv1.LabelParentCRP: "shop"}}, "spec": spec,
		})
		hub.put("cluster.kubernetes-fleet.io/v1/MemberCluster/"+member, map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": "prod"}}})
	}
	return hub
}

// override has the page of the members of an environment say something else.
func override(env, page string) string {
	return fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {namespace: shop, name: pages}, spec: {
		resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: pages}],
		policy: {overrideRules: [{clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {env: %s}}}]},
			jsonPatchOverrides: [{op: replace, path: /data/page, value: %s}]}]}}}`, env, page)
}

// What a placement's Works for a member hold, as they are, as they will be, and with an
// override that is not applied yet.
func TestRenderOfAPlacement(t *testing.T) {
	hub := givenShop(t)
	for sentence, tc := range map[string]struct {
		args, input string
		want, not   []string
		fails       string
	}{
		"what was rolled out":                {args: "--cluster member1", want: []string{"kind: Namespace", "---", "page: one", "***"}, not: []string{"aHVudGVy", "sealed"}},
		"with what Secrets hold":             {args: "--cluster member1 --show-secrets", want: []string{"aHVudGVy"}},
		"for programs it is one list":        {args: "--cluster member1 -o json", want: []string{`"kind": "List"`, `"page": "one"`}},
		"a member that is not picked":        {args: "--cluster member9", fails: "member9 gets nothing of clusterresourceplacement.placement.kubernetes-fleet.io/shop: it is not picked"},
		"one that waits for its turn":        {args: "--cluster member2", fails: "--released shows it"},
		"what that one will get":             {args: "--cluster member2 --released", want: []string{"page: one"}},
		"with an override to try":            {args: "--cluster member1 --with -", input: override("prod", "two"), want: []string{"page: two"}},
		"with one for other members":         {args: "--cluster member1 --with -", input: override("test", "two"), want: []string{"page: one"}},
		"with one that cannot be applied":    {args: "--cluster member1 --with -", input: strings.Replace(override("prod", "two"), "/data/page", "/spec/none", 1), fails: "cannot be rendered for member1"},
		"with what is no placement's":        {args: "--cluster member1 --with -", input: "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}", fails: "--with takes overrides of placements"},
		"a placement that there is not":      {args: "--cluster member1", fails: "not found"},
		"the member has to be named, always": {fails: "--cluster is missing"},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := "crp/shop"
			if tc.fails == "not found" {
				name = "crp/none"
			}
			a := runWith(t, hub, tc.input, append([]string{"render", name}, strings.Fields(tc.args)...)...)
			a.wants(t, tc.fails)
			for _, text := range tc.want {
				if !strings.Contains(a.out, text) {
					t.Errorf("no %q in\n%s", text, a.out)
				}
			}
			for _, text := range tc.not {
				if strings.Contains(a.out, text) {
					t.Errorf("%q in\n%s", text, a.out)
				}
			}
		})
	}
}

// What an override of placements of a file would change, and in which members.
func TestDiffOfAPlacementsOverride(t *testing.T) {
	hub := givenShop(t)
	before := hub.refs()
	a := runWith(t, hub, override("prod", "two"), "diff", "-f", "-")
	a.wants(t, "")
	wantText(t, `Placement shop, at the pace of its rollout
configmap/pages in shop
member1 would change
@@ -1,6 +1,6 @@
apiVersion: v1
data:
- page: one
+ page: two
kind: ConfigMap
metadata:
name: pages
1 placement changes in members; 0 others stay as they are.`, a.out)

	a = runWith(t, hub, override("test", "two"), "diff", "-f", "-")
	a.wants(t, "")
	wantText(t, "0 placements change in members; 1 other stays as it is.", a.out)

	a = runWith(t, hub, override("prod", "two"), "diff", "-f", "-", "-o", "json")
	a.wants(t, "")
	for _, want := range []string{`"placement": "shop"`, `"what": "changes"`, `"member1"`} {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %s in\n%s", want, a.out)
		}
	}
	a = runWith(t, hub, strings.Replace(override("prod", "two"), "/data/page", "/spec/none", 1), "diff", "-f", "-")
	a.wants(t, "")
	if !strings.Contains(a.out, "member1 would keep what it has, for it cannot be rendered") {
		t.Errorf("an override that cannot be applied: %s", a.out)
	}
	if after := hub.refs(); !slices.Equal(before, after) {
		t.Errorf("it wrote: %q, and before %q", after, before)
	}
}
