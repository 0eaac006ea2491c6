// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

const fleetRef = "placement.kubernetes-fleet.io/v1/"

func settingMaps(n int) (ids []placementv1.ResourceIdentifier) {
	for i := range n {
		ids = append(ids, placementv1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("cm-%02d", i)})
	}
	return ids
}

// boundShop binds the placement shop to member1, with that status.
func (a *api) boundShop(status placementv1.ResourceBindingStatus) {
	a.put(fleetRef+"ClusterResourceBinding/shop-member1", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{placementv1.LabelParentCRP: "shop"}},
		"spec":     map[string]any{"state": "Bound", "targetCluster": "member1", "resourceSnapshotName": "shop-1-snapshot"}, "status": status,
	})
}

func explained(t *testing.T, hub *api, args ...string) string {
	t.Helper()
	a := run(t, hub, append([]string{"explain", "crp/shop"}, args...)...)
	a.wants(t, "")
	return strings.Join(strings.Fields(a.out), " ")
}

func wantParts(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
}

func TestExplainAPlacementSaysWhichObjectsFailedAndWhy(t *testing.T) {
	hub := placedShop(t)
	status := placementv1.ResourceBindingStatus{}
	for _, id := range settingMaps(12) {
		status.FailedPlacements = append(status.FailedPlacements, placementv1.FailedResourcePlacement{ResourceIdentifier: id, Condition: metav1.Condition{
			Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: "RefusedByMember", Message: "quota exceeded",
		}})
	}
	hub.boundShop(status)
	out := explained(t, hub)
	wantParts(t, out, "Failed CLUSTER NAMESPACE OBJECT REASON MESSAGE member1 shop configmap/cm-00 RefusedByMember quota exceeded", "cm-09", "and 2 more (-o wide lists them)")
	if strings.Contains(out, "cm-10") {
		t.Errorf("more than ten:\n%s", out)
	}
	wantParts(t, explained(t, hub, "-o", "wide"), "cm-11 RefusedByMember quota exceeded")
	wantParts(t, explained(t, hub, "-o", "json"), `"name": "cm-11"`, `"message": "quota exceeded"`)
}

func TestExplainAPlacementShowsDiffs(t *testing.T) {
	hub := placedShop(t)
	id := settingMaps(1)[0]
	hub.boundShop(placementv1.ResourceBindingStatus{DiffedPlacements: []placementv1.DiffedResourcePlacement{
		{ResourceIdentifier: id, TargetClusterObservedGeneration: new(int64), ObservedDiffs: []placementv1.PatchDetail{
			{Path: "/data/a", ValueInMember: "1", ValueInHub: "2"}, {Path: "/data/b", ValueInHub: "2"}, {Path: "/data/c", ValueInMember: "1"}, {Path: "/data/d"}, {Path: "/data/e"},
		}},
	}})
	wantParts(t, explained(t, hub), "Differs CLUSTER NAMESPACE OBJECT WHERE member1 shop configmap/cm-00 /data/a: 1 in the member, 2 here; /data/b: nothing in the member, 2 here; /data/c: 1 in the member, nothing here; and 2 more")
	hub.boundShop(placementv1.ResourceBindingStatus{DiffedPlacements: []placementv1.DiffedResourcePlacement{{ResourceIdentifier: id}}})
	wantParts(t, explained(t, hub), "configmap/cm-00 the member has no such object")
	id.Kind = "Secret"
	hub.boundShop(placementv1.ResourceBindingStatus{DiffedPlacements: []placementv1.DiffedResourcePlacement{
		{ResourceIdentifier: id, TargetClusterObservedGeneration: new(int64), ObservedDiffs: []placementv1.PatchDetail{{Path: "/data/a"}}},
	}})
	wantParts(t, explained(t, hub), "secret/cm-00 /data/a")
}

func TestExplainAPlacementAfterARunThatFailed(t *testing.T) {
	hub := placedShop(t)
	u := hub.get(crpRef + "shop")
	u.Object["spec"].(map[string]any)["strategy"] = map[string]any{"type": "External"} //nolint:forcetypeassert // a map
	hub.put(crpRef+"shop", u.Object)
	wantParts(t, explained(t, hub), "Run none: a ClusterStagedUpdateRun gives clusters the newest snapshot")
	put := func(name, ended, at, message string) {
		hub.put(fleetRef+"ClusterStagedUpdateRun/"+name, map[string]any{
			"spec":   map[string]any{"placementName": "shop"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": ended, "reason": "UpdateRun", "message": message, "lastTransitionTime": at}}},
		})
	}
	put("first", "True", "2026-01-01T00:00:00Z", "all stages are done")
	put("second", "False", "2026-01-02T00:00:00Z", "the strategy changed; make another run")
	wantParts(t, explained(t, hub), "Run second has ended (UpdateRun): the strategy changed; make another run")
	wantParts(t, explained(t, hub, "-o", "json"), `"lastRun": { "name": "second"`)
	put("third", "True", "2026-01-03T00:00:00Z", "all stages are done")
	wantParts(t, explained(t, hub), "Run none: the last, third, succeeded; another ClusterStagedUpdateRun gives clusters the newest snapshot")
}

func TestExplainAPlacementListsItsEvictions(t *testing.T) {
	hub := placedShop(t)
	u := hub.get(fleetRef + "ClusterResourceSnapshot/shop-1-snapshot")
	put := func(name, of, made string, conditions ...any) {
		hub.put(fleetRef+"ClusterResourcePlacementEviction/"+name, map[string]any{
			"metadata": map[string]any{"creationTimestamp": made},
			"spec":     map[string]any{"placementName": of, "clusterName": "member1"}, "status": map[string]any{"conditions": conditions},
		})
	}
	said := func(kind, status, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Because", "message": message}
	}
	metadata := u.Object["metadata"].(map[string]any) //nolint:forcetypeassert // a map
	metadata["creationTimestamp"] = "2026-02-01T00:00:00Z"
	hub.put(fleetRef+"ClusterResourceSnapshot/shop-1-snapshot", u.Object)
	put("old-done", "shop", "2026-01-01T00:00:00Z", said("Valid", "True", "ok"), said("Executed", "True", "gone"))
	put("old-open", "shop", "2026-01-01T00:00:00Z")
	put("late-valid", "shop", "2026-01-01T00:00:00Z", said("Valid", "True", "fits"))
	put("new-refused", "shop", "2026-03-01T00:00:00Z", said("Valid", "True", "ok"), said("Executed", "False", "the budget forbids it"))
	put("new-wrong", "shop", "2026-03-01T00:00:00Z", said("Valid", "False", "no such member"))
	put("others", "other", "2026-03-01T00:00:00Z")
	out := explained(t, hub)
	wantParts(t, out, "Eviction new-refused of member1: Executed False (Because): the budget forbids it", "Eviction new-wrong of member1: Valid False (Because): no such member",
		"Eviction old-open of member1: nobody has looked at it yet", "Eviction late-valid of member1: Valid True (Because): fits")
	if strings.Contains(out, "old-done") || strings.Contains(out, "others") {
		t.Error(out)
	}
}

func TestApproveOfARunThatEnded(t *testing.T) {
	hub := placedShop(t)
	hub.put(fleetRef+"ClusterApprovalRequest/release-after-canary", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{placementv1.LabelTaskType: "afterStage"}},
		"spec":     map[string]any{"parentStageRollout": "release", "targetStage": "canary"},
	})
	approved := func() bool {
		return strings.Contains(fmt.Sprint(hub.get(fleetRef + "ClusterApprovalRequest/release-after-canary").Object["status"]), "Approved")
	}
	run(t, hub, "approve", "careq/release-after-canary").wants(t, "run release of careq/release-after-canary not found: nothing waits for the approval")
	put := func(succeeded, message string) {
		hub.put(fleetRef+"ClusterStagedUpdateRun/release", map[string]any{
			"spec":   map[string]any{"placementName": "shop"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": succeeded, "reason": "UpdateRun", "message": message}}},
		})
	}
	put("False", "the strategy changed; make another run")
	run(t, hub, "approve", "careq/release-after-canary").wants(t, "run release has ended: the strategy changed; make another run")
	if approved() {
		t.Error("what nothing waits for is approved")
	}
	put("Unknown", "")
	a := run(t, hub, "approve", "careq/release-after-canary")
	if a.wants(t, ""); !approved() || !strings.Contains(a.out, "Run release goes on: the end of stage canary is approved.") {
		t.Errorf("approved %t, says %q", approved(), a.out)
	}
	run(t, hub, "approve", "careq/none").wants(t, "careq/none not found: 'kubectl get careq' lists them")
}

func TestNotFoundSaysHowToListThem(t *testing.T) {
	hub := placedShop(t)
	for args, want := range map[string]string{
		"explain crp/none":                "clusterresourceplacement.placement.kubernetes-fleet.io/none not found: 'kubectl get clusterresourceplacement.placement.kubernetes-fleet.io' lists them",
		"explain csur/none":               "clusterstagedupdaterun.placement.kubernetes-fleet.io/none not found: 'kubectl get clusterstagedupdaterun.placement.kubernetes-fleet.io' lists them",
		"explain clusterroles/no":         "clusterrole/no not found: 'kubectl get clusterrole' lists them",
		"rollback crp/shop --to-index 77": "has no snapshot 77: there are 0 to 1",
	} {
		t.Run(args, func(t *testing.T) { run(t, hub, strings.Fields(args)...).wants(t, want) })
	}
}

// Nobody has looked at a placement in the moment after it was made.
func TestExplainOfAPlacementThatIsNotDecided(t *testing.T) {
	hub := serve(t, "hub").shop()
	hub.put(crpRef+"shop", map[string]any{})
	a := run(t, hub, "explain", "crp/shop")
	a.wants(t, "")
	wantText(t, `
		Placement shop: 0 objects, newest snapshot none yet
		Status
		not decided yet
		Clusters
		not decided yet`, a.out)
}
