// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/placing"
)

const crpRef = "placement.kubernetes-fleet.io/v1/ClusterResourcePlacement/"

// placedShop is a hub with the placement shop, of two snapshots: member1 has the
// newest, member2 waits.
func placedShop(t *testing.T) *api {
	hub := serve(t, "hub").shop()
	yes := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Done", ObservedGeneration: 1}
	}
	waits := metav1.Condition{Type: placementv1.ConditionPlacementRolloutStarted, Status: metav1.ConditionFalse, Reason: placementv1.ReasonRolloutNotStartedYet, Message: "member2 waits", ObservedGeneration: 1}
	hub.put(crpRef+"shop", map[string]any{
		"metadata": map[string]any{"uid": "1", "generation": 1, "creationTimestamp": "2026-01-01T12:00:00Z"},
		"spec":     map[string]any{"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}}},
		"status": placementv1.ClusterResourcePlacementStatus{
			SelectedResources: []placementv1.ResourceIdentifier{{Version: "v1", Kind: "Namespace", Name: "shop"}}, ObservedResourceIndex: "1",
			Conditions: []metav1.Condition{yes(placementv1.ConditionPlacementScheduled), waits},
			PlacementStatuses: []placementv1.ResourcePlacementStatus{
				{ClusterName: "member1", Conditions: []metav1.Condition{yes(placementv1.ConditionScheduled), yes(placementv1.ConditionApplied), yes(placementv1.ConditionAvailable)}},
				{ClusterName: "member2", Conditions: []metav1.Condition{yes(placementv1.ConditionScheduled)}},
			},
		},
	})
	for index, latest := range map[int]string{0: "false", 1: "true"} {
		hub.put(fmt.Sprintf("placement.kubernetes-fleet.io/v1/ClusterResourceSnapshot/shop-%d-snapshot", index), map[string]any{"metadata": map[string]any{
			"labels":      map[string]any{placementv1.LabelParentCRP: "shop", placementv1.LabelResourceIndex: fmt.Sprint(index), placementv1.LabelIsLatestSnapshot: latest},
			"annotations": map[string]any{placementv1.AnnotationResourceHash: "hash", placementv1.AnnotationNumberOfResourceSnapshots: "1"},
		}})
	}
	return hub
}

func TestGetPlacements(t *testing.T) {
	hub := placedShop(t)
	const line = "PLACEMENT OBJECTS SNAPSHOT CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE\nshop 1 1 member1,member2 1/2 1/2 RolloutNotStartedYet - AGE"
	for args, want := range map[string]string{
		"get":                     line,
		"get crp":                 line,
		"get crp/shop":            line,
		"get crp -o name":         "clusterresourceplacement.placement.kubernetes-fleet.io/shop",
		"get crp -o wide":         strings.Replace(strings.Replace(line, "AGE\n", "AGE MESSAGE\n", 1), "- AGE", "- AGE member2 waits", 1),
		"history crp/shop":        "INDEX HASH AGE LATEST CLUSTERS\n1 hash - yes -\n0 hash - -",
		"history crp/shop -oname": "shop-1-snapshot\nshop-0-snapshot",
	} {
		t.Run(args, func(t *testing.T) {
			a := run(t, hub, strings.Fields(args)...)
			a.wants(t, "")
			wantText(t, want, a.out)
		})
	}
	run(t, hub, "get", "crp/none").wants(t, "none not found")
}

func TestRollback(t *testing.T) {
	hub := placedShop(t)
	pinned := func() string { return hub.get(crpRef + "shop").GetAnnotations()[placing.AnnotationRollback] }
	for _, step := range []struct{ args, says, fails, pin string }{
		{args: "rollback crp/shop", fails: "say either --to-index, with the index of a snapshot, or --release"},
		{args: "rollback crp/shop --to-index 0 --release", fails: "say either --to-index"},
		{args: "rollback cm/shop --to-index 0", fails: `"cm/shop" names no placement, and a template or a policy is rolled back with --to-revision`},
		{args: "rollback crp/shop --to-index 7", fails: "has no snapshot 7: there are 0 to 1"},
		{args: "rollback crp/shop --to-index 0", says: "is rolled back to snapshot 0, and stays there", pin: "0"},
		{args: "rollback crp/shop --to-index 0", says: "is rolled back to snapshot 0, and stays there", pin: "0"},
		{args: "get crp", says: "1 (rolled back)", pin: "0"},
		{args: "explain crp/shop", says: "Rolled back to snapshot 0", pin: "0"},
		{args: "rollback crp/shop --release", says: "is released"},
	} {
		a := run(t, hub, strings.Fields(step.args)...)
		a.wants(t, step.fails)
		if !strings.Contains(a.out, step.says) || pinned() != step.pin {
			t.Errorf("%s says %q and leaves the pin %q, want %q and %q", step.args, a.out, pinned(), step.says, step.pin)
		}
	}
}

// What a placement of a file would select, where that would go, and in which order.
func TestDiffOfAPlacement(t *testing.T) {
	hub := placedShop(t)
	hub.put("v1/Namespace/shop", map[string]any{"metadata": map[string]any{"uid": "2"}})
	hub.put("v1/ConfigMap/shop/pages", map[string]any{"metadata": map[string]any{"uid": "3"}, "data": map[string]any{"page": "one"}})
	hub.put("v1/ConfigMap/shop/kube-root-ca.crt", map[string]any{"metadata": map[string]any{"uid": "4"}})
	yes := func(kind string) map[string]any { return map[string]any{"type": kind, "status": "True"} }
	for _, m := range []string{"member1", "member2"} {
		hub.put("cluster.kubernetes-fleet.io/v1/MemberCluster/"+m, map[string]any{"status": map[string]any{"agentStatus": []any{
			map[string]any{"type": "MemberAgent", "conditions": []any{yes("Joined"), yes("Healthy")}},
		}}})
	}
	const planned = `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: %s},
		spec: {policy: {placementType: PickFixed, clusterNames: [member1, member7]}, resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]}}`
	const lines = `: 2 objects
1 Namespace
1 ConfigMap
Snapshot a new one, for the content is not that of the newest
Scheduled could not find all the clusters needed as specified by the scheduling policy
Clusters, step by step as far as each becomes available
STEP CLUSTER PICKED CHANGE WHY
1 member1 yes gets it picked by scheduling policy
- member7 no - cluster "member7" is not found: it has not joined the fleet, or left it`
	before := hub.refs()
	for _, crp := range []string{"new", "shop"} {
		a := runWith(t, hub, fmt.Sprintf(planned, crp), "diff", "-f", "-")
		a.wants(t, "")
		wantText(t, "Placement "+crp+lines, a.out)
	}
	a := runWith(t, hub, fmt.Sprintf(planned, "new"), "diff", "-f", "-", "-o", "json")
	a.wants(t, "")
	for _, want := range []string{`"name": "pages"`, `"step": 1`, `"snapshot": "new-0-snapshot"`} {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %s in\n%s", want, a.out)
		}
	}
	for _, name := range []string{"shpo", "default"} {
		a := runWith(t, hub, strings.Replace(fmt.Sprintf(planned, "new"), "name: shop}", "name: "+name+"}", 1), "diff", "-f", "-")
		if a.wants(t, ""); !strings.Contains(a.out, "new: 0 objects (its selectors find nothing") {
			t.Errorf("of namespace %s it says\n%s", name, a.out)
		}
	}
	if after := hub.refs(); !slices.Equal(before, after) {
		t.Errorf("it wrote: %q, and before %q", after, before)
	}
}

// It picks by the labels that Clusters have now, mirrored or not, as the scheduler does.
func TestC1DiffOfAPlacementPicksByTheLabelsOfNow(t *testing.T) {
	hub := placedShop(t)
	yes := func(kind string) map[string]any { return map[string]any{"type": kind, "status": "True"} }
	for _, m := range []string{"member1", "member2"} {
		hub.put("cluster.kubernetes-fleet.io/v1/MemberCluster/"+m, map[string]any{"status": map[string]any{"agentStatus": []any{
			map[string]any{"type": "MemberAgent", "conditions": []any{yes("Joined"), yes("Healthy")}},
		}}})
	}
	ref := "cluster.karmada.io/v1alpha1/Cluster/member2"
	u := hub.get(ref)
	u.SetLabels(map[string]string{"env": "prod"})
	hub.put(ref, u.Object)
	a := runWith(t, hub, `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: new}, spec: {
		policy: {placementType: PickAll, affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {env: prod}}}]}}}},
		resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]}}`, "diff", "-f", "-")
	a.wants(t, "")
	if out := strings.Join(strings.Fields(a.out), " "); !strings.Contains(out, "1 member2 yes") || strings.Contains(out, "member1 yes") {
		t.Errorf("it does not pick member2 alone:\n%s", a.out)
	}
}

// Who deleted a MemberCluster is told why placements pass it by, and how that ends.
func TestExplainAPlacementWhoseMemberLeft(t *testing.T) {
	hub := placedShop(t)
	const left = "somebody deleted its MemberCluster at 2026-02-01T10:00:00Z, so placements pass it by: 'kubectl annotate cluster member3 sluice.dev/left-placements-' brings it back"
	explain := func(args ...string) string {
		a := run(t, hub, append([]string{"explain", "crp/shop"}, args...)...)
		a.wants(t, "")
		return a.out
	}
	if out := explain(); strings.Contains(out, "member3") {
		t.Errorf("nobody left, and it says\n%s", out)
	}
	ref := "cluster.karmada.io/v1alpha1/Cluster/member3"
	u := hub.get(ref)
	u.SetAnnotations(map[string]string{mirroring.AnnotationLeft: "2026-02-01T10:00:00Z"})
	hub.put(ref, u.Object)
	if out := explain(); !strings.Contains(out, left) {
		t.Errorf("no %q in\n%s", left, out)
	}
	if out := explain("-o", "json"); !strings.Contains(out, `"left": "2026-02-01T10:00:00Z"`) {
		t.Errorf("programs are not told:\n%s", out)
	}
	hub.refuse = failing("/clusters", http.StatusForbidden, http.MethodGet)
	if out := explain(); strings.Contains(out, left) || !strings.Contains(out, "Placement   shop") {
		t.Errorf("who may not list clusters is told\n%s", out)
	}
}
