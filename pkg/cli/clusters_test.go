// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	stdcmp "cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// clusterShop has one member in each state: member1 has all but one template,
// member2 is down and protected, nobody has asked member3, and only placements know
// member4.
func clusterShop(t *testing.T) *api {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1", "member2")
	hub.policy(p)
	hub.propagated(fixture.Deployment("fine"), p)
	refused := hub.propagated(fixture.Deployment("refused"), p)
	hub.work(refused, "member1", metav1.ConditionFalse)
	hub.binding(refused.WithRemovals(map[string]propagation.Removal{"member2": {Held: fixture.Start}}))

	status := func(name string, labels map[string]string, c metav1.Condition) {
		one := cluster("https://"+name, name)
		one.Labels, one.CreationTimestamp = labels, metav1.NewTime(fixture.Start)
		c.Type, c.LastTransitionTime = clusterv1alpha1.ConditionReady, metav1.NewTime(fixture.Start)
		one.Status.KubernetesVersion, one.Status.Conditions = "v1.36.3", []metav1.Condition{c}
		hub.put("cluster.karmada.io/v1alpha1/Cluster/"+name, one)
	}
	status("member1", nil, metav1.Condition{Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonClusterReady, Message: "it answers"})
	status("member2", map[string]string{propagation.LabelDeletionProtected: propagation.DeletionProtected},
		metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1alpha1.ReasonClusterNotReachable, Message: "no route"})
	for _, name := range []string{"member1", "member4"} { // Clusters come first
		hub.put("cluster.kubernetes-fleet.io/v1/MemberCluster/"+name, map[string]any{
			"metadata": map[string]any{"creationTimestamp": "2026-01-01T12:00:00Z"},
			"status": memberclusterv1.MemberClusterStatus{
				Properties: map[memberclusterv1.PropertyName]memberclusterv1.PropertyValue{memberclusterv1.PropertyKubernetesVersion: {Value: "v1.35.0"}},
				Conditions: []metav1.Condition{{Type: memberclusterv1.ConditionHealthy, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(fixture.Start)}},
			},
		})
	}
	for name, placement := range map[string]string{"shop-work": "shop", "shop-configmap-1": "shop", "all-work": "all"} {
		hub.put("placement.kubernetes-fleet.io/v1/Work/fleet-member-member1/"+name, map[string]any{"metadata": map[string]any{
			"labels": map[string]any{placementv1.LabelParentCRP: placement},
		}})
	}
	return hub
}

func TestGetClusters(t *testing.T) {
	hub := clusterShop(t)
	for args, want := range map[string]string{
		"get clusters": `
			CLUSTER READY VERSION APPLIED PLACEMENTS HELD PROTECTED AGE
			member1 True v1.36.3 1/2 2 - - AGE
			member2 False for AGE: ClusterNotReachable v1.36.3 2/2 0 1 yes AGE
			member3 Unknown - 0/0 0 - - -
			member4 True v1.35.0 0/0 0 - - AGE`,
		"get clusters member2 -o wide": `
			CLUSTER READY VERSION APPLIED PLACEMENTS HELD PROTECTED AGE ENDPOINT MESSAGE
			member2 False for AGE: ClusterNotReachable v1.36.3 2/2 0 1 yes AGE https://member2 no route`,
		"get cluster member1 member3 -o name": "cluster.cluster.karmada.io/member1\ncluster.cluster.karmada.io/member3",
	} {
		t.Run(args, func(t *testing.T) {
			a := run(t, hub, strings.Fields(args)...)
			a.wants(t, "")
			wantText(t, want, a.out)
		})
	}
	run(t, hub, "get", "clusters", "nobody").wants(t, "cluster nobody has not joined")
	empty := run(t, serve(t, "hub"), "get", "clusters")
	empty.wants(t, "")
	if !strings.Contains(empty.err, "No cluster has joined") || empty.out != "" {
		t.Errorf("said %q and %q", empty.out, empty.err)
	}
}

func TestGetClustersForMachines(t *testing.T) {
	a := run(t, clusterShop(t), "get", "clusters", "member2", "-o", "json")
	a.wants(t, "")
	var got map[string]any
	if err := json.Unmarshal([]byte(a.out), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "member2", "ready": "False", "reason": "ClusterNotReachable", "message": "no route", "since": fixture.Start.Format("2006-01-02T15:04:05Z07:00"),
		"version": "v1.36.3", "endpoint": "https://member2", "applied": 2.0, "works": 2.0, "placements": 0.0, "heldRemovals": 1.0,
		"deletionProtected": true, "created": fixture.Start.Format("2006-01-02T15:04:05Z07:00"),
	}
	for _, key := range []string{"since", "created"} { // in whichever zone
		if s, _ := got[key].(string); s == "" {
			t.Errorf("no %s", key)
		}
		delete(got, key)
		delete(want, key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A hub that serves no placements has clusters all the same; what somebody may not
// read is not counted as none.
func TestGetClustersWithoutPlacements(t *testing.T) {
	hub := clusterShop(t)
	members, works := failing("/v1/memberclusters", 404), failing("placement.kubernetes-fleet.io/v1/works", 404)
	hub.refuse = func(r *http.Request) *apierrors.StatusError { return stdcmp.Or(members(r), works(r)) }
	a := run(t, hub, "get", "clusters", "-o", "name")
	a.wants(t, "")
	if n := strings.Count(a.out, "\n"); n != len(fleet) {
		t.Errorf("%d clusters:\n%s", n, a.out)
	}
	hub.refuse = failing("/v1alpha1/works", 403)
	run(t, hub, "get", "clusters").wants(t, "refused by the test")
}
