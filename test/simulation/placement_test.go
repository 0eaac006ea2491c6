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
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/test/pipelinetest"
)

// carried is a placement that is decided and bound, and the stages that carry it.
type carried struct {
	t        *testing.T
	hub      *pipelinetest.Hub
	strategy *placementv1.ApplyStrategy
	// overrides are those that the bindings name.
	overrides []string
	leaving   *placementv1.DeleteStrategy
	members   map[string]*pipelinetest.Member
	stages    map[string]interface {
		Handle(context.Context, event.Event) ([]event.Event, error)
	}
	writes   []string
	recorded []string
	// handled is how many events there were.
	handled int
}

func carry(t *testing.T, clusters ...string) *carried {
	clock := func() time.Time { return time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC) }
	c := &carried{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: clock}), members: map[string]*pipelinetest.Member{}}
	c.hub.Recorded = func(_ hub.About, reason, _ string) { c.recorded = append(c.recorded, reason) }
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}}
	c.hub.Put(p)
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-0", Annotations: map[string]string{placementv1.AnnotationCRPGeneration: "2"}, // which asks for a strategy
		Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
	}}
	policy.Status.ObservedCRPGeneration = 2
	policy.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: "True", ObservedGeneration: 1}}
	for _, name := range clusters {
		c.hub.Join(name)
		c.hub.Put(&memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
		c.members[name] = pipelinetest.NewMember(name)
		_ = c.hub.EnsureNamespace(t.Context(), propagation.PlacementForm.Namespace(name))
		policy.Status.ClusterDecisions = append(policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: name, Selected: true, Reason: "picked by scheduling policy"})
	}
	policy.OwnerReferences = c.owned()
	c.hub.Put(policy)
	find := func(cluster string) *pipelinetest.Member { return c.members[cluster] }
	c.stages = map[string]interface {
		Handle(context.Context, event.Event) ([]event.Event, error)
	}{
		"renderer": renderer.New(c.hub, clock),
		"applier":  applier.New(c.hub, nil, func(_ context.Context, n string) (applier.Member, error) { return find(n), nil }, clock).Sequential(),
		"reporter": reporter.New(c.hub, func(_ context.Context, n string) (reporter.Member, error) { return find(n), nil }, clock),
	}
	c.hub.Wrote = func(_ context.Context, w pipelinetest.Write) { c.writes = append(c.writes, w.String()) }
	return c
}

// owned is by the placement, as what the placer makes of it.
func (c *carried) owned() []metav1.OwnerReference {
	c.t.Helper()
	p, err := c.hub.Placement(c.t.Context(), "crp-1")
	if err != nil {
		c.t.Fatal(err)
	}
	return []metav1.OwnerReference{*metav1.NewControllerRef(p, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
}

// ask has the placement say how objects are applied and deleted, which the bindings say
// after it.
func (c *carried) ask() {
	c.t.Helper()
	p, err := c.hub.Placement(c.t.Context(), "crp-1")
	if err != nil {
		c.t.Fatal(err)
	}
	next := p.DeepCopy()
	next.Spec.Strategy.ApplyStrategy, next.Spec.Strategy.DeleteStrategy = c.strategy, c.leaving
	if !equality.Semantic.DeepEqual(p.Spec, next.Spec) {
		c.hub.Put(next)
	}
}

// snapshot makes the newest snapshot, and binds the members to it.
func (c *carried) snapshot(index int, objects ...string) {
	c.ask()
	name := fmt.Sprintf("crp-1-%d-snapshot", index)
	s := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1", placementv1.AnnotationNumberOfEnvelopedObjects: "0"},
		Labels:          map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelResourceIndex: fmt.Sprint(index)},
		OwnerReferences: c.owned(),
	}}
	for _, o := range objects {
		s.Spec.SelectedResources = append(s.Spec.SelectedResources, placementv1.ResourceContent{RawExtension: runtime.RawExtension{Raw: []byte(o)}})
	}
	c.hub.Put(s)
	for cluster := range c.members {
		c.hub.Put(&placementv1.ClusterResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "crp-1-" + cluster, Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}},
			Spec: placementv1.ResourceBindingSpec{
				State: placementv1.BindingStateBound, ResourceSnapshotName: name, TargetCluster: cluster, ApplyStrategy: c.strategy, ClusterResourceOverrideSnapshots: c.overrides,
				DeleteStrategy: c.leaving,
			},
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
	for queue, n := []event.Event{e}, 0; len(queue) > 0; queue = queue[1:] {
		c.handled++
		if n++; n > 100 {
			c.t.Fatalf("events follow each other without end: %s", queue[0].Type())
		}
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

// A snapshot, and a Work, of a hundred objects is one event, and so is their change.
func TestC72APlacementOfManyObjectsHasNoMoreEventsAndWrites(t *testing.T) {
	costs := func(objects int) (events, writes [2]int) {
		c := carry(t, "m1", "m2", "m3")
		var all []string
		for i := range objects {
			all = append(all, configMap(fmt.Sprintf("c-%03d", i)))
		}
		for index := range events {
			all[0] = strings.ReplaceAll(all[0], `"b"`, fmt.Sprintf(`"b%d"`, index))
			before, wrote := c.handled, len(c.writes)
			c.snapshot(index, all...)
			events[index], writes[index] = c.handled-before, len(c.writes)-wrote
		}
		for name, m := range c.members {
			if n := len(m.Objects()); n != objects {
				t.Errorf("%s has %d objects, want %d", name, n, objects)
			}
		}
		return events, writes
	}
	few, wrote := costs(1)
	many, writes := costs(100)
	if few != many || wrote != writes {
		t.Errorf("made and changed, one object is %v events and %v writes, and one of a hundred %v and %v", few, wrote, many, writes)
	}
	t.Log(few, wrote)
}

func TestC15WhatTheSnapshotDoesNotHaveAnyMoreLeaves(t *testing.T) {
	c := carry(t, "m1")
	c.snapshot(0, configMap("one"), configMap("two"))
	c.snapshot(1, configMap("one"))
	if n := len(c.members["m1"].Objects()); n != 1 {
		t.Errorf("the member has %d objects, want 1", n)
	}
}

// The Work is being deleted when its placement gives the member something else: what that
// leaves out leaves before the Work is made anew, which would not know of it.
func TestC15WhatAWorkThatIsMadeAnewDoesNotHaveLeaves(t *testing.T) {
	for sentence, tc := range map[string]struct {
		next []string
		want int
	}{
		"some of it stays":        {[]string{configMap("one")}, 1},
		"nothing of it stays":     {[]string{configMap("three")}, 1},
		"all of it stays":         {[]string{configMap("one"), configMap("two")}, 2},
		"nothing is given at all": {nil, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := carry(t, "m1")
			c.snapshot(0, configMap("one"), configMap("two"))
			works, err := c.hub.WorksOfPlacement(t.Context(), "crp-1")
			if err != nil || len(works) != 1 {
				t.Fatal(works, err)
			}
			if err := c.hub.DeleteWork(t.Context(), works[0]); err != nil {
				t.Fatal(err)
			}
			c.snapshot(1, tc.next...)
			if n := len(c.members["m1"].Objects()); n != tc.want {
				t.Errorf("the member has %d objects, want %d: %v", n, tc.want, c.writes)
			}
			anew, err := c.hub.WorksOfPlacement(t.Context(), "crp-1")
			if err != nil || len(anew) != 1 || anew[0].Deleting || anew[0].UID == works[0].UID {
				t.Errorf("the Work was not made anew: %v, %v", anew, err)
			}
		})
	}
}

// A Work that is made anew is not applied yet, for its placement is suspended: it knows what
// the former one brought to the member.
func TestC15AWorkThatIsMadeAnewKnowsWhatTheFormerOneBrought(t *testing.T) {
	for sentence, next := range map[string]func(c *carried){
		"it is given something else": func(*carried) {},
		"it is deleted, too":         func(c *carried) { c.deleteWork() },
	} {
		t.Run(sentence, func(t *testing.T) {
			c := carry(t, "m1")
			c.snapshot(0, configMap("one"), configMap("two"))
			c.suspend("m1")
			c.deleteWork()
			c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
			next(c)
			c.snapshot(1, configMap("one"))
			c.suspend("")
			c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
			if n := len(c.members["m1"].Objects()); n != 1 {
				t.Errorf("the member has %d objects, want 1: %v", n, c.writes)
			}
		})
	}
}

// deleteWork is what somebody does by hand.
func (c *carried) deleteWork() {
	c.t.Helper()
	works, err := c.hub.WorksOfPlacement(c.t.Context(), "crp-1")
	if err != nil || len(works) != 1 {
		c.t.Fatal(works, err)
	}
	if err := c.hub.DeleteWork(c.t.Context(), works[0]); err != nil {
		c.t.Fatal(err)
	}
}

// suspend suspends the placement in those members.
func (c *carried) suspend(clusters string) {
	c.t.Helper()
	p, err := c.hub.Placement(c.t.Context(), "crp-1")
	if err != nil {
		c.t.Fatal(err)
	}
	next := p.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, propagation.AnnotationSuspended, clusters)
	c.hub.Put(next)
}

// While what has to leave may not, the Work waits for that, and nothing goes round in
// circles.
func TestC15AWorkIsNotMadeAnewWhileWhatHasToLeaveIsHeld(t *testing.T) {
	c := carry(t, "m1")
	c.snapshot(0, configMap("one"), configMap("two"))
	c.deleteWork()
	c.suspend("m1")
	c.snapshot(1, configMap("one"))
	if n := len(c.members["m1"].Objects()); n != 2 {
		t.Errorf("the placement is suspended, and the member has %d objects, want 2", n)
	}
	c.suspend("")
	c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
	if n := len(c.members["m1"].Objects()); n != 1 {
		t.Errorf("the member has %d objects, want 1: %v", n, c.writes)
	}
}

func TestC75WhatAnotherHasIsNotFoughtOver(t *testing.T) {
	c := carry(t, "m1")
	key := propagation.WorkKey{Cluster: "m1", Name: "other"}
	if err := c.hub.EnsureNamespace(t.Context(), key.Namespace()); err != nil {
		t.Fatal(err)
	}
	other, err := c.hub.CommitWork(t.Context(), nil, &propagation.Work{Key: key})
	if err != nil {
		t.Fatal(err)
	}
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

// deleting is the snapshot of an override that keeps a ConfigMap from all members.
func deleting(name, namespace string) *placementv1.ClusterResourceOverrideSnapshot {
	o := &placementv1.ClusterResourceOverrideSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.OverrideSpec.ClusterResourceSelectors = []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: namespace}}
	o.Spec.OverrideSpec.Policy = &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{{
		ClusterSelector: &placementv1.ClusterSelector{}, OverrideType: placementv1.DeleteOverrideType,
	}}}
	return o
}

func TestC70WhatAnOverrideKeepsFromAMemberLeavesIt(t *testing.T) {
	c := carry(t, "m1")
	c.hub.Put(&memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	c.snapshot(0, configMap("one"), configMap("two"))
	c.hub.Put(deleting("gone-0", "shop"))
	c.overrides = []string{"gone-0"}
	c.snapshot(1, configMap("one"), configMap("two"))
	if n := len(c.members["m1"].Objects()); n != 0 {
		t.Errorf("the member has %d objects, want none", n)
	}
	c.overrides = nil
	c.snapshot(2, configMap("one"), configMap("two"))
	if n := len(c.members["m1"].Objects()); n != 2 {
		t.Errorf("the member has %d objects after the override has gone, want 2", n)
	}
}

func TestC74TakingOver(t *testing.T) {
	theirs := func(data string, more ...string) map[string]any {
		meta := map[string]any{"name": "one", "namespace": "shop"}
		if len(more) > 0 {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": more[0], "uid": "1"}}
		}
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{"a": data}}
	}
	for sentence, tc := range map[string]struct {
		strategy placementv1.ApplyStrategy
		there    map[string]any
		want     string
		differs  bool
	}{
		"it is taken always":                      {placementv1.ApplyStrategy{}, theirs("c"), "", false},
		"it is never taken":                       {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeNever}, theirs("b"), "NotTakenOver", false},
		"it is taken if it does not differ":       {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeIfNoDiff}, theirs("b"), "", false},
		"it differs":                              {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeIfNoDiff}, theirs("c"), "FailedToTakeOver", true},
		"others own it":                           {placementv1.ApplyStrategy{}, theirs("b", "owner"), "FailedToTakeOver", false},
		"others own it, and may":                  {placementv1.ApplyStrategy{AllowCoOwnership: true}, theirs("b", "owner"), "", false},
		"it differs in what was not asked for":    {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeIfNoDiff}, with(theirs("b"), "immutable"), "", false},
		"it differs in that, and all is compared": {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeIfNoDiff, ComparisonOption: placementv1.ComparisonOptionTypeFullComparison}, with(theirs("b"), "immutable"), "FailedToTakeOver", true},
		"all is compared, and it does not differ": {placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeIfNoDiff, ComparisonOption: placementv1.ComparisonOptionTypeFullComparison}, theirs("b"), "", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := carry(t, "m1")
			c.strategy = &tc.strategy
			_ = c.members["m1"].EnsureNamespace(t.Context(), "shop", nil)
			c.members["m1"].Plant(member.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "one"}, tc.there)
			c.snapshot(0, configMap("one"))
			p, err := c.hub.Placement(t.Context(), "crp-1")
			if err != nil {
				t.Fatal(err)
			}
			m, got := p.Status.PlacementStatuses[0], ""
			if len(m.FailedPlacements) > 0 {
				got = m.FailedPlacements[0].Condition.Reason
			}
			if got != tc.want || (len(m.DiffedPlacements) > 0) != tc.differs || len(m.DriftedPlacements) > 0 {
				t.Errorf("failed %q, want %q; differs %v, drifted %v", got, tc.want, m.DiffedPlacements, m.DriftedPlacements)
			}
		})
	}
}

func with(obj map[string]any, field string) map[string]any {
	obj[field] = true
	return obj
}

// C102: what is abandoned stays when the placement goes; all else leaves.
func TestC102DeletedOrAbandoned(t *testing.T) {
	for sentence, tc := range map[string]struct {
		strategy *placementv1.DeleteStrategy
		retired  bool
		want     int
	}{
		"it goes with the placement":                                                {nil, false, 0},
		"it goes, as the strategy says":                                             {&placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyDelete}, false, 0},
		"it stays, because that is asked for":                                       {&placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyAbandon}, false, 2},
		"Z11: it stays, for nobody asked for it: all placements go with their kind": {nil, true, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := carry(t, "m1")
			c.leaving, c.hub.Retired = tc.strategy, tc.retired
			c.snapshot(0, configMap("one"), configMap("two"))
			if n := len(c.members["m1"].Objects()); n != 2 {
				t.Fatalf("the member has %d objects, want 2", n)
			}
			p, err := c.hub.Placement(t.Context(), "crp-1")
			if err != nil {
				t.Fatal(err)
			}
			at := metav1.Now()
			p.DeletionTimestamp, p.Finalizers = &at, []string{placementv1.FinalizerPlacement}
			c.hub.Put(p)
			c.run(events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
			if n := len(c.members["m1"].Objects()); n != tc.want {
				t.Errorf("the member has %d objects, want %d", n, tc.want)
			}
			works, err := c.hub.WorksOfPlacement(t.Context(), "crp-1")
			if err != nil || len(works) != 0 {
				t.Errorf("there are still %d Works: %v", len(works), err)
			}
			for _, o := range c.members["m1"].Objects() {
				if nobodys := o.Work == ""; nobodys == tc.retired {
					t.Errorf("%s is marked as of the Work %q", o.Ref, o.Work)
				}
			}
		})
	}
}
