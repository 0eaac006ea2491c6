// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
)

func snapshotOf(name, index, latest string) *placementv1.ClusterResourceSnapshot {
	return &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{placementv1.LabelResourceIndex: index, placementv1.LabelIsLatestSnapshot: latest},
		Annotations: map[string]string{placementv1.AnnotationResourceHash: "hash-" + index, placementv1.AnnotationNumberOfResourceSnapshots: "1"},
	}}
}

func boundTo(cluster, snapshot string, conditions ...metav1.Condition) *placementv1.ClusterResourceBinding {
	b := &placementv1.ClusterResourceBinding{}
	b.Spec.TargetCluster, b.Spec.ResourceSnapshotName, b.Spec.State = cluster, snapshot, placementv1.BindingStateBound
	b.Status.Conditions = conditions
	return b
}

func placed() explaining.Placed {
	crp := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1", Generation: 2, Annotations: map[string]string{"sluice.dev/suspended": "member3"},
	}}
	crp.Status.SelectedResources = make([]placementv1.ResourceIdentifier, 4)
	crp.Status.Conditions = []metav1.Condition{
		{Type: placementv1.ConditionPlacementAvailable, Status: metav1.ConditionTrue, Reason: "ResourceAvailable", ObservedGeneration: 1},
		{Type: placementv1.ConditionPlacementScheduled, Status: metav1.ConditionTrue, Reason: "SchedulingPolicyFulfilled", ObservedGeneration: 2},
	}
	policy := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-0", Labels: map[string]string{placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"},
	}}
	policy.Status.ClusterDecisions = []placementv1.ClusterDecision{
		{ClusterName: "member4", Reason: "untolerated taint gpu"},
		{ClusterName: "member2", Selected: true, Reason: "picked by scheduling policy"},
		{ClusterName: "member3", Selected: true, Reason: "picked by scheduling policy"},
		{ClusterName: "member1", Selected: true, Reason: "picked by scheduling policy"},
	}
	return explaining.Placed{
		Placement: crp, Policies: []*placementv1.ClusterSchedulingPolicySnapshot{policy},
		Snapshots: []*placementv1.ClusterResourceSnapshot{snapshotOf("crp-1-0-snapshot", "0", "false"), snapshotOf("crp-1-1-snapshot", "1", "true")},
		Bindings: []*placementv1.ClusterResourceBinding{
			boundTo("member1", "crp-1-1-snapshot", metav1.Condition{Type: "Available", Status: metav1.ConditionTrue}),
			boundTo("member2", "crp-1-0-snapshot", metav1.Condition{Type: "RolloutStarted", Status: metav1.ConditionFalse, Message: "others are changed now"}),
			boundTo("member3", "crp-1-0-snapshot"),
		},
	}
}

func TestPlacementReport(t *testing.T) {
	want := explaining.PlacementReport{
		Name: "crp-1", Suspended: "member3", Selected: 4, Snapshot: "1",
		Stages: []explaining.PlacementStage{
			{Stage: "Scheduled", Status: "True", Reason: "SchedulingPolicyFulfilled"},
			{Stage: "Available", Status: "True", Reason: "ResourceAvailable", Stale: true},
		},
		Members: []explaining.PlacementMember{
			{Cluster: "member1", Selected: true, Why: "picked by scheduling policy", State: "Bound", Index: "1"},
			{Cluster: "member2", Selected: true, Why: "picked by scheduling policy", State: "Bound", Index: "0", Waits: "RolloutStarted: others are changed now"},
			{Cluster: "member3", Selected: true, Why: "picked by scheduling policy", State: "Bound", Index: "0", Waits: "suspended: until it is resumed"},
			{Cluster: "member4", Why: "untolerated taint gpu"},
		},
	}
	if diff := cmp.Diff(want, placed().Report(time.Time{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlacementHistory(t *testing.T) {
	want := []explaining.PlacementRevision{
		{Index: 1, Name: "crp-1-1-snapshot", Hash: "hash-1", Parts: 1, Latest: true, Members: []string{"member1"}},
		{Index: 0, Name: "crp-1-0-snapshot", Hash: "hash-0", Parts: 1, Members: []string{"member2", "member3"}},
	}
	if diff := cmp.Diff(want, placed().History()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSuspendAndResumePlacements(t *testing.T) {
	for sentence, tc := range map[string]struct {
		was      string
		clusters []string
		suspend  string
		resume   string
		refused  bool // to resume
	}{
		"all of none":        {"", nil, "true", "", false},
		"all of some":        {"a,b", nil, "true", "", false},
		"all of all":         {"true", nil, "true", "", false},
		"one of none":        {"", []string{"b"}, "b", "", false},
		"one more":           {"a", []string{"b"}, "a,b", "a", false},
		"one that waits":     {"a,b", []string{"b"}, "a,b", "a", false},
		"some in any order":  {"c", []string{"b", "a"}, "a,b,c", "c", false},
		"one of all waiting": {"true", []string{"b"}, "true", "true", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := explaining.Suspend(tc.was, tc.clusters); got != tc.suspend {
				t.Errorf("suspended: %q, want %q", got, tc.suspend)
			}
			got, err := explaining.Resume(tc.was, tc.clusters)
			if got != tc.resume || (err != nil) != tc.refused {
				t.Errorf("resumed: %q, %v, want %q", got, err, tc.resume)
			}
		})
	}
}

// What the rollout waits for is worked out as the rollout does: status says only that it
// waits.
func TestC62AReportSaysWhatTheRolloutWaitsFor(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	yes := func(kind, reason string, since time.Time) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(since)}
	}
	const later = "RolloutStarted: has crp-1-0-snapshot, and gets crp-1-1-snapshot later"
	for name, tc := range map[string]struct {
		first   *placementv1.ClusterResourceBinding
		edit    func(p *explaining.Placed)
		rollout string
		waits   string
	}{
		"another is suspended": {
			first: func() *placementv1.ClusterResourceBinding {
				b := boundTo("member1", "crp-1-1-snapshot")
				b.Annotations = map[string]string{"sluice.dev/suspended": "true"}
				return b
			}(),
			rollout: "cluster member2 waits for others to be available: member1 is suspended", waits: later,
		},
		"another has failed": {
			first:   boundTo("member1", "crp-1-1-snapshot", metav1.Condition{Type: "Applied", Status: metav1.ConditionFalse, Reason: "NotAllWorkHaveBeenApplied", Message: "quota exceeded"}),
			rollout: "cluster member2 waits for others to be available: member1 NotAllWorkHaveBeenApplied: quota exceeded", waits: later,
		},
		"another counts as available after a while": {
			first: boundTo("member1", "crp-1-1-snapshot", yes("Available", placementv1.ReasonWorkNotTrackable, now.Add(-time.Minute))),
			edit: func(p *explaining.Placed) {
				p.Placement.Spec.Strategy.RollingUpdate = &placementv1.RollingUpdateConfig{UnavailablePeriodSeconds: new(100)}
			},
			rollout: "cluster member2 waits for others to be available: member1 counts as available from 2026-11-28T12:00:40Z", waits: later,
		},
		"all have it": {first: boundTo("member1", "crp-1-1-snapshot", yes("Available", "AllWorkAreAvailable", now)), edit: func(p *explaining.Placed) {
			p.Bindings[1].Spec.ResourceSnapshotName = "crp-1-1-snapshot"
		}},
		"Z11: its overrides went with their definition": {
			first: boundTo("member1", "crp-1-1-snapshot", yes("Available", "AllWorkAreAvailable", now)),
			edit: func(p *explaining.Placed) {
				p.Bindings[1].Annotations = map[string]string{"sluice.dev/overrides-undefined": "ClusterResourceOverride gold"}
			},
			rollout: "cluster member2 waits: " + rollout.Undefined("ClusterResourceOverride gold"), waits: "RolloutStarted: " + rollout.Undefined("ClusterResourceOverride gold"),
		},
		"Z11: the hub does not serve what overrides are kept in": {
			first:   boundTo("member1", "crp-1-1-snapshot", yes("Available", "AllWorkAreAvailable", now)),
			edit:    func(p *explaining.Placed) { p.Unserved = []string{"ResourceOverrideSnapshots"} },
			rollout: "stands still: the hub does not serve ResourceOverrideSnapshots, which overrides are rolled out by; 'kubectl apply -f config/300-crds' installs it",
		},
		"runs decide": {first: boundTo("member1", "crp-1-1-snapshot"), edit: func(p *explaining.Placed) {
			p.Placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
		}},
		"nothing is decided yet": {first: boundTo("member1", "crp-1-1-snapshot"), edit: func(p *explaining.Placed) {
			p.Policies[0].Status.Conditions = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := placed()
			p.Placement.Annotations = nil
			p.Policies[0].Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue}}
			p.Policies[0].Status.ClusterDecisions = p.Policies[0].Status.ClusterDecisions[1:]
			p.Policies[0].Status.ClusterDecisions = slices.DeleteFunc(p.Policies[0].Status.ClusterDecisions, func(d placementv1.ClusterDecision) bool { return d.ClusterName == "member3" })
			p.Bindings = []*placementv1.ClusterResourceBinding{tc.first, boundTo("member2", "crp-1-0-snapshot", yes("Available", "AllWorkAreAvailable", now))}
			for _, b := range p.Bindings {
				b.Name = "crp-1-" + b.Spec.TargetCluster
			}
			if tc.edit != nil {
				tc.edit(&p)
			}
			r := p.Report(now)
			if r.Rollout != tc.rollout {
				t.Errorf("rollout: %q, want %q", r.Rollout, tc.rollout)
			}
			i := slices.IndexFunc(r.Members, func(m explaining.PlacementMember) bool { return m.Cluster == "member2" })
			if r.Members[i].Waits != tc.waits {
				t.Errorf("member2 waits for %q, want %q", r.Members[i].Waits, tc.waits)
			}
		})
	}
}

func TestC102APlacementThatIsBeingDeletedSaysWhatItWaitsFor(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	work := func(cluster string, change func(*propagation.Work)) *propagation.Work {
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: cluster, Name: "crp-1-work", Form: propagation.PlacementForm}, Generation: 2, Deleting: true}
		change(w)
		return w
	}
	p := placed()
	p.Placement.DeletionTimestamp = &since
	for _, b := range p.Bindings {
		b.DeletionTimestamp = &since
	}
	p.Works = []*propagation.Work{
		work("member1", func(w *propagation.Work) {
			w.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: metav1.ConditionFalse, Message: "the member cannot be reached", ObservedGeneration: 2}}
		}),
		work("member2", func(w *propagation.Work) { w.Finalizers = []string{"example.com/mine"} }),
	}
	r := p.Report(since.Time)
	if !p.Leaves() || r.Deleting == nil {
		t.Errorf("it leaves: %t, it is being deleted since %v", p.Leaves(), r.Deleting)
	}
	waits := map[string]string{}
	for _, m := range r.Members {
		waits[m.Cluster] = m.State + " " + m.Waits
	}
	want := map[string]string{
		"member1": "Leaving Applied: the member cannot be reached",
		"member2": "Leaving the Work crp-1-work in " + p.Works[1].Key.Namespace() + " waits for the finalizer example.com/mine",
		"member3": "Leaving suspended: until it is resumed",
		"member4": " ",
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
