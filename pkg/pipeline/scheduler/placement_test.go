// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/paging"
)

// placedWorld is a hub with placements and no bindings of policies.
type placedWorld struct {
	asksNone
	placements []*placementv1.ClusterResourcePlacement
	policy     *placementv1.ClusterSchedulingPolicySnapshot
	members    []*memberclusterv1.MemberCluster
	clusters   []*clusterv1alpha1.Cluster
	writes     int
}

func (w *placedWorld) Placement(_ context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	for _, p := range w.placements {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, outcome.ErrGone
}

func (w *placedWorld) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return w.placements, nil
}

func (w *placedWorld) PolicySnapshotsOf(context.Context, string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return []*placementv1.ClusterSchedulingPolicySnapshot{w.policy}, nil
}

func (w *placedWorld) CommitPolicySnapshotStatus(_ context.Context, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	if fmt.Sprint(s.Status) != fmt.Sprint(status) {
		w.writes++
	}
	next := s.DeepCopy()
	next.Status = status
	w.policy = next
	return next, nil
}

func (w *placedWorld) PlacementBindingsOf(context.Context, string) ([]*placementv1.ClusterResourceBinding, error) {
	return nil, nil
}

func (w *placedWorld) Fleet(context.Context) ([]*memberclusterv1.MemberCluster, error) {
	return mirroring.Present(w.members, w.clusters), nil
}

func (w *placedWorld) PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	return w.Placement(ctx, name)
}

// asksNone has no evictions.
type asksNone struct{ asks }

// asks are not asked for here.
type asks = Evictions

func (asksNone) Evictions(context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	return nil, nil
}

type noBindings struct{ writes }

// writes are those that nobody makes here.
type writes = Bindings

func (noBindings) ListBindings(context.Context, string, int64, string) ([]*propagation.Binding, string, error) {
	return nil, "", nil
}

// Clusters of the world are those that its members belong to.
func (w *placedWorld) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	return w.clusters, nil
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func (w *placedWorld) handle(t *testing.T, eventType string, d events.Data) []event.Event {
	t.Helper()
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(eventType)
	if err := e.SetData("application/json", d); err != nil {
		t.Fatal(err)
	}
	out, err := New(noBindings{}, w, w, nil, func() time.Time { return noon }).Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// healthy is a member that a placement may pick.
func healthy(name string) *memberclusterv1.MemberCluster {
	ok := func(of string) metav1.Condition { return metav1.Condition{Type: of, Status: metav1.ConditionTrue} }
	m := &memberclusterv1.MemberCluster{}
	m.Name = name
	m.Status.AgentStatus = []memberclusterv1.AgentStatus{{
		Type: memberclusterv1.MemberAgent, LastReceivedHeartbeat: metav1.NewTime(noon),
		Conditions: []metav1.Condition{ok(memberclusterv1.ConditionJoined), ok(memberclusterv1.ConditionHealthy)},
	}}
	return m
}

// inForce is the policy snapshot in force of the placement shop.
func inForce() *placementv1.ClusterSchedulingPolicySnapshot {
	s := &placementv1.ClusterSchedulingPolicySnapshot{}
	s.Name, s.Generation = "shop-0", 1
	s.Labels = map[string]string{placementv1.LabelPolicyIndex: "0", placementv1.LabelIsLatestSnapshot: "true"}
	return s
}

func TestC28APlacementIsScheduledWithOneWrite(t *testing.T) {
	p := &placementv1.ClusterResourcePlacement{}
	p.Name = "shop"
	policy := inForce()
	policy.Annotations = map[string]string{placementv1.AnnotationCRPGeneration: "5"}
	w := &placedWorld{placements: []*placementv1.ClusterResourcePlacement{p}, policy: policy, members: []*memberclusterv1.MemberCluster{healthy("member1")}}
	for range 2 {
		out := w.handle(t, events.PlacementSnapshotted, events.Data{Placement: "shop"})
		if len(out) != 1 || out[0].Type() != events.PlacementScheduled {
			t.Errorf("told %v, want placement.scheduled", out)
		}
	}
	s := w.policy.Status
	if w.writes != 1 || s.ObservedCRPGeneration != 5 || len(s.ClusterDecisions) != 1 || !s.ClusterDecisions[0].Selected || s.Conditions[0].ObservedGeneration != 1 {
		t.Errorf("%d writes, status %+v", w.writes, s)
	}
}

// What a placement picked stays, whatever becomes of labels, so it must be picked by those
// that people have given, mirrored or not.
func TestC1APlacementIsScheduledByTheLabelsThatClustersHaveNow(t *testing.T) {
	p := &placementv1.ClusterResourcePlacement{}
	p.Name = "shop"
	policy := inForce()
	policy.Annotations = map[string]string{placementv1.AnnotationCRPGeneration: "1", placementv1.AnnotationNumberOfClusters: "2"}
	policy.Spec.Policy = &placementv1.PlacementPolicy{
		PlacementType:             placementv1.PickNPlacementType,
		TopologySpreadConstraints: []placementv1.TopologySpreadConstraint{{TopologyKey: "env", WhenUnsatisfiable: placementv1.DoNotSchedule}},
	}
	w := &placedWorld{placements: []*placementv1.ClusterResourcePlacement{p}, policy: policy}
	for name, env := range map[string]string{"member1": "prod", "member2": "canary", "member3": "canary"} {
		m, c := healthy(name), &clusterv1alpha1.Cluster{}
		c.Name = name
		c.Labels = map[string]string{"env": env}
		if name != "member1" { // not mirrored yet
			m = mirroring.Member(c, m)
		}
		w.members, w.clusters = append(w.members, m), append(w.clusters, c)
	}
	w.handle(t, events.PlacementSnapshotted, events.Data{Placement: "shop"})
	picked := map[string]bool{}
	for _, d := range w.policy.Status.ClusterDecisions {
		picked[d.ClusterName] = d.Selected
	}
	if !picked["member1"] || picked["member2"] == picked["member3"] {
		t.Errorf("picked %v, want member1 and one of the others", picked)
	}
}

func TestAChangedClusterIsToldToPlacementsAPageAtATime(t *testing.T) {
	w := &placedWorld{}
	for i := range paging.Size + 3 {
		p := &placementv1.ClusterResourcePlacement{}
		p.Name = fmt.Sprintf("p%03d", i)
		w.placements = append(w.placements, p)
	}
	w.placements[1].Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: []string{"another"}}
	told, next := map[string]bool{}, events.Data{Cluster: "member1"}
	for pages := 0; next.Cluster != "" && pages < 3; pages++ {
		page := w.handle(t, events.ClusterChanged, next)
		next = events.Data{}
		for _, o := range page {
			d, err := events.Decode(o)
			if err != nil {
				t.Fatal(err)
			}
			if o.Type() == events.ClusterChanged {
				next = d
			} else {
				told[d.Placement] = true
			}
		}
	}
	if len(told) != paging.Size+2 || told["p001"] {
		t.Errorf("%d are told, and of one that does not name the cluster: %v", len(told), told["p001"])
	}
}
