// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/pkg/pipelinetest"
)

// carried is a placement that is decided and bound, and the stages that carry it.
type carried struct {
	t       *testing.T
	hub     *pipelinetest.Hub
	members map[string]*pipelinetest.Member
	stages  map[string]interface {
		Handle(context.Context, event.Event) ([]event.Event, error)
	}
	writes   []string
	recorded []string
}

func carry(t *testing.T, clusters ...string) *carried {
	clock := func() time.Time { return time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC) }
	c := &carried{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: clock}), members: map[string]*pipelinetest.Member{}}
	c.hub.Recorded = func(_ hub.About, reason, _ string) { c.recorded = append(c.recorded, reason) }
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}}
	c.hub.Put(p)
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-0", Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "1"},
		Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
	}}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: "True", ObservedGeneration: 1}}
	for _, name := range clusters {
		c.hub.Join(name)
		c.members[name] = pipelinetest.NewMember(name)
		_ = c.hub.EnsureNamespace(t.Context(), propagation.PlacementForm.Namespace(name))
		policy.Status.ClusterDecisions = append(policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: name, Selected: true, Reason: "picked by scheduling policy"})
	}
	c.hub.Put(policy)
	find := func(cluster string) *pipelinetest.Member { return c.members[cluster] }
	c.stages = map[string]interface {
		Handle(context.Context, event.Event) ([]event.Event, error)
	}{
		"renderer": renderer.New(c.hub, clock),
		"applier":  applier.New(c.hub, nil, func(_ context.Context, n string) (applier.Member, error) { return find(n), nil }, clock),
		"reporter": reporter.New(c.hub, func(_ context.Context, n string) (reporter.Member, error) { return find(n), nil }, clock),
	}
	c.hub.Wrote = func(_ context.Context, w pipelinetest.Write) { c.writes = append(c.writes, w.String()) }
	return c
}

// snapshot makes the newest snapshot, and binds the members to it.
func (c *carried) snapshot(index int, objects ...string) {
	name := fmt.Sprintf("crp-1-%d-snapshot", index)
	s := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1", placementv1.AnnotationNumberOfEnvelopedObjects: "0"},
		Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelResourceIndex: fmt.Sprint(index)},
	}}
	for _, o := range objects {
		s.Spec.SelectedResources = append(s.Spec.SelectedResources, placementv1.ResourceContent{RawExtension: runtime.RawExtension{Raw: []byte(o)}})
	}
	c.hub.Put(s)
	for cluster := range c.members {
		c.hub.Put(&placementv1.ClusterResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "crp-1-" + cluster, Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}},
			Spec:       placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: name, TargetCluster: cluster},
		})
		c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: cluster})
	}
}

// run has the event handled, and all that follow.
func (c *carried) run(eventType string, d events.Data) {
	c.t.Helper()
	cause := event.New()
	cause.SetID(fmt.Sprint(len(c.writes)))
	cause.SetSource("/test")
	cause.SetType(eventType)
	e, err := events.New("rollout", cause, eventType, d)
	if err != nil {
		c.t.Fatal(err)
	}
	for queue := []event.Event{e}; len(queue) > 0; queue = queue[1:] {
		to := map[string]string{
			events.PlacementBound: "renderer", events.WorkRendered: "applier", events.WorkRemoved: "applier",
			events.WorkApplied: "reporter", events.WorkFailed: "reporter", events.WorkDeleted: "renderer",
		}[queue[0].Type()]
		if to == "" {
			continue
		}
		more, err := c.stages[to].Handle(c.t.Context(), queue[0])
		if err != nil {
			c.t.Fatalf("%s handles %s: %v", to, queue[0].Type(), err)
		}
		queue = append(queue, more...)
	}
}

func configMap(name string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"shop"},"data":{"a":"b"}}`
}

func TestC72C73C78APlacementIsCarriedAndTold(t *testing.T) {
	c := carry(t, "m1", "m2", "m3")
	c.snapshot(0, configMap("one"), configMap("two"))
	t.Log(strings.Join(c.writes, "\n"))
	p, err := c.hub.Placement(t.Context(), "crp-1")
	if err != nil {
		t.Fatal(err)
	}
	last := p.Status.Conditions[len(p.Status.Conditions)-1]
	if last.Type != placementv1.ConditionPlacementAvailable || last.Status != metav1.ConditionTrue {
		t.Errorf("the placement ends with %+v", last)
	}
	for name, m := range c.members {
		if n := len(m.Objects()); n != 2 {
			t.Errorf("%s has %d objects, want 2", name, n)
		}
	}
	// A Work, its status and the binding's for each member, and one for all.
	if n := len(c.writes); n > 3*3+1 {
		t.Errorf("%d writes", n)
	}
	before := len(c.writes)
	for name := range c.members {
		c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: name})
	}
	if len(c.writes) != before {
		t.Errorf("nothing changed, and was written: %v", c.writes[before:])
	}
}

func TestC15WhatTheSnapshotDoesNotHaveAnyMoreLeaves(t *testing.T) {
	c := carry(t, "m1")
	c.snapshot(0, configMap("one"), configMap("two"))
	c.snapshot(1, configMap("one"))
	if n := len(c.members["m1"].Objects()); n != 1 {
		t.Errorf("the member has %d objects, want 1", n)
	}
}

func TestC75WhatAnotherHasIsNotFoughtOver(t *testing.T) {
	c := carry(t, "m1")
	other := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "other"}}
	_ = c.members["m1"].EnsureNamespace(t.Context(), "shop", nil)
	if _, err := c.members["m1"].Write(t.Context(), other, "", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "shop"}}, nil); err != nil {
		t.Fatal(err)
	}
	c.snapshot(0, configMap("one"), configMap("two"))
	ref := member.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "one"}
	if o := c.members["m1"].Object(ref); o.Work != "other" {
		t.Errorf("it was taken by %s", o.Work)
	}
	p, err := c.hub.Placement(t.Context(), "crp-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Status.PlacementStatuses[0].FailedPlacements; len(got) != 1 || got[0].Condition.Reason != "ApplyConflictBetweenPlacements" {
		t.Errorf("failed placements %+v", got)
	}
}
