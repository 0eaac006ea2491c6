// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

var now = time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)

// world is a placement of a Namespace and a ConfigMap in three members, all done.
func world(change ...func(*Input)) Input {
	p := &placementv1.ClusterResourcePlacement{}
	p.Name, p.Generation = "crp-1", 1
	policy := &placementv1.ClusterSchedulingPolicySnapshot{}
	policy.Name, policy.Generation = "crp-1-0", 1
	policy.Labels = map[string]string{placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"}
	policy.Annotations = map[string]string{placementv1.AnnotationCRPGeneration: "1"}
	policy.Status.ObservedCRPGeneration = 1
	policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue, Reason: placementv1.ReasonSchedulingPolicyFulfilled, ObservedGeneration: 1}}
	snapshot := &placementv1.ClusterResourceSnapshot{}
	snapshot.Name = "crp-1-0-snapshot"
	snapshot.Labels = map[string]string{placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelResourceIndex: "0"}
	snapshot.Annotations = map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1", placementv1.AnnotationNumberOfEnvelopedObjects: "0"}
	in := Input{
		Placement: p, Policies: []*placementv1.ClusterSchedulingPolicySnapshot{policy}, Snapshots: []*placementv1.ClusterResourceSnapshot{snapshot}, Now: now,
		Selected: []placementv1.ResourceIdentifier{{Version: "v1", Kind: "Namespace", Name: "application-1"}, {Version: "v1", Kind: "ConfigMap", Name: "app-config-1", Namespace: "application-1"}},
	}
	for i := range 3 {
		cluster := fmt.Sprintf("kind-cluster-%d", i+1)
		policy.Status.ClusterDecisions = append(policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: cluster, Selected: true, Reason: "picked by scheduling policy"})
		b := &placementv1.ClusterResourceBinding{}
		b.Name, b.Generation = "crp-1-"+cluster, 1
		b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: snapshot.Name, TargetCluster: cluster}
		in.Bindings = append(in.Bindings, b)
		in.Works = append(in.Works, workOf(b))
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func workOf(b *placementv1.ClusterResourceBinding, outcomes ...Outcome) *propagation.Work {
	w := &propagation.Work{
		Key: propagation.WorkKey{Cluster: b.Spec.TargetCluster, Name: "crp-1-work", Form: propagation.PlacementForm}, Generation: 1,
		Annotations: map[string]string{
			placementv1.AnnotationParentSnapshotName:         b.Spec.ResourceSnapshotName,
			placementv1.AnnotationParentClusterOverridesHash: propagation.HashJSON(b.Spec.ClusterResourceOverrideSnapshots),
			placementv1.AnnotationParentOverridesHash:        propagation.HashJSON(b.Spec.ResourceOverrideSnapshots),
		},
		Labels: map[string]string{},
	}
	if len(outcomes) == 0 {
		outcomes = []Outcome{done("Namespace", nil), done("ConfigMap", nil)}
	}
	status := WorkStatus(kinds.Table{}, w, outcomes, now)
	w.Status.Conditions, w.Results = status.Conditions, status.ManifestConditions
	return w
}

// done is an object that the member has as asked.
func done(kind string, status map[string]any) Outcome {
	apiVersion := "v1"
	switch kind {
	case "Deployment":
		apiVersion = "apps/v1"
	case "Job":
		apiVersion = "batch/v1"
	}
	obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a", "namespace": "application-1", "generation": int64(1)}}
	if status != nil {
		obj["status"], obj["spec"] = status, map[string]any{"replicas": int64(1)}
	}
	return Outcome{Manifest: obj, Object: obj, Reason: ReasonApplied}
}

func failed(kind, reason, message string) Outcome {
	o := done(kind, nil)
	o.Reason, o.Message = reason, message
	return o
}

// texts are conditions as the seed's sample has them.
func texts(list []metav1.Condition) (out []string) {
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %s %s %d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
	}
	return out
}

func TestC77C78C81TheSeedsSample(t *testing.T) {
	s := Summarize(world())
	if s.Moving {
		t.Error("something is said to be on its way")
	}
	want := []string{
		"ClusterResourcePlacementScheduled True SchedulingPolicyFulfilled 1: found all the clusters needed as specified by the scheduling policy",
		"ClusterResourcePlacementRolloutStarted True RolloutStarted 1: All 3 cluster(s) start rolling out the latest resource",
		"ClusterResourcePlacementOverridden True NoOverrideSpecified 1: No override rules are configured for the selected resources",
		"ClusterResourcePlacementWorkSynchronized True WorkSynchronized 1: Work(s) are successfully created or updated in the 3 target clusters' namespaces",
		"ClusterResourcePlacementApplied True ApplySucceeded 1: The selected resources are successfully applied to 3 clusters",
		"ClusterResourcePlacementAvailable True ResourceAvailable 1: The selected resources in 3 cluster are available now",
	}
	if diff := cmp.Diff(want, texts(s.Status.Conditions)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s.Status.ObservedResourceIndex != "0" || len(s.Status.SelectedResources) != 2 || len(s.Status.PlacementStatuses) != 3 {
		t.Errorf("got %+v", s.Status)
	}
	for i, m := range s.Status.PlacementStatuses {
		cluster := fmt.Sprintf("kind-cluster-%d", i+1)
		want := []string{
			"Scheduled True Scheduled 1: Successfully scheduled resources for placement in " + cluster + " (affinity score: 0, topology spread score: 0): picked by scheduling policy",
			"RolloutStarted True RolloutStarted 1: Detected the new changes on the resources and started the rollout process",
			"Overridden True NoOverrideSpecified 1: No override rules are configured for the selected resources",
			"WorkSynchronized True AllWorkSynced 1: All of the works are synchronized to the latest",
			"Applied True AllWorkHaveBeenApplied 1: All corresponding work objects are applied",
			"Available True AllWorkAreAvailable 1: All corresponding work objects are available",
		}
		if diff := cmp.Diff(want, texts(m.Conditions)); diff != "" || m.ClusterName != cluster {
			t.Errorf("%s (-want +got)\n%s", m.ClusterName, diff)
		}
	}
	in := world()
	in.Placement.Status, in.Now = s.Status, now.Add(time.Hour)
	if diff := cmp.Diff(s.Status, Summarize(in).Status); diff != "" {
		t.Errorf("said again it differs (-first +second)\n%s", diff)
	}
}

func TestC79C80OneThatIsNotTrueEndsTheList(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		reason string // of the placement's last condition
		member string // of the first member's last condition
		moving bool
	}{
		"C79: nothing is decided yet":            {func(in *Input) { in.Policies = nil }, placementv1.ReasonSchedulePending, "", true},
		"C80: what is decided is of an old form": {func(in *Input) { in.Placement.Generation = 2 }, placementv1.ReasonSchedulePending, "", true},
		"C79: too few members": {func(in *Input) {
			in.Policies[0].Status.Conditions[0].Status = metav1.ConditionFalse
		}, placementv1.ReasonSchedulingPolicyUnfulfilled, placementv1.ReasonAllWorkAvailable, false},
		"C79: no binding yet":                       {func(in *Input) { in.Bindings = in.Bindings[1:] }, placementv1.ReasonRolloutStartedUnknown, placementv1.ReasonRolloutStartedUnknown, true},
		"C66, C79: the rollout has not come so far": {func(in *Input) { in.Bindings[0].Spec.ResourceSnapshotName = "crp-1-older-snapshot" }, placementv1.ReasonRolloutNotStartedYet, placementv1.ReasonRolloutNotStartedYet, false},
		"C61, C79: somebody else says when": {func(in *Input) {
			in.Placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
			in.Bindings[0].Spec.State, in.Bindings[0].Spec.ResourceSnapshotName = placementv1.BindingStateScheduled, ""
		}, placementv1.ReasonRolloutControlledExternally, placementv1.ReasonRolloutControlledExternally, false},
		"C71, C79: an override cannot be applied": {func(in *Input) {
			in.Bindings[0].Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionOverridden, Status: metav1.ConditionFalse, ObservedGeneration: 1}}
		}, placementv1.ReasonOverriddenFailed, placementv1.ReasonOverriddenFailed, false},
		"C79: the Works are those of an earlier snapshot": {func(in *Input) { in.Works = in.Works[1:] }, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonWorkNotSynchronizedYet, true},
		"C70, C79: the Works are made by other overrides": {func(in *Input) {
			in.Bindings[0].Spec.ClusterResourceOverrideSnapshots = []string{"o-0"}
		}, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonWorkNotSynchronizedYet, true},
		"C70, C79: what overrides see of the member has changed": {func(in *Input) {
			in.Bindings[0].Spec.OverriddenFor = &placementv1.OverriddenFor{Labels: map[string]string{"env": "prod"}}
		}, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonWorkNotSynchronizedYet, true},
		"C89: an envelope is invalid": {func(in *Input) {
			in.Bindings[0].Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionWorkSynchronized, Status: metav1.ConditionFalse, ObservedGeneration: 1}}
		}, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonSyncWorkFailed, false},
		"C73, Z29: a Secret fits into no Work": {func(in *Input) {
			in.Bindings[0].Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionWorkSynchronized, Status: metav1.ConditionFalse, Reason: placementv1.ReasonTooLarge, ObservedGeneration: 1}}
		}, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonTooLarge, false},
		"C79: a Work has a new form": {func(in *Input) { in.Works[0].Generation = 2 }, placementv1.ReasonApplyPending, placementv1.ReasonApplyInProgress, true},
		"C74, C79: an object cannot be applied": {func(in *Input) {
			in.Works[0] = workOf(in.Bindings[0], failed("ConfigMap", ReasonNotTakenOver, "m"), done("Namespace", nil))
		}, placementv1.ReasonApplyFailed, placementv1.ReasonWorkNotApplied, false},
		"C79: an object is not available": {func(in *Input) {
			in.Works[0] = workOf(in.Bindings[0], done("Deployment", map[string]any{"observedGeneration": int64(1)}))
		}, placementv1.ReasonResourceNotAvailableYet, placementv1.ReasonWorkNotAvailable, false},
		"C81: one whose availability nobody can tell": {func(in *Input) { in.Works[0] = workOf(in.Bindings[0], done("Job", map[string]any{})) }, placementv1.ReasonResourceAvailable, placementv1.ReasonWorkNotTrackable, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(world(tc.change))
			last := s.Status.Conditions[len(s.Status.Conditions)-1]
			if last.Reason != tc.reason || s.Moving != tc.moving {
				t.Errorf("the placement ends with %s, moving %t; want %s, %t", last.Reason, s.Moving, tc.reason, tc.moving)
			}
			if tc.member == "" {
				return
			}
			list := s.Status.PlacementStatuses[0].Conditions
			if got := list[len(list)-1].Reason; got != tc.member {
				t.Errorf("the member ends with %s, want %s", got, tc.member)
			}
		})
	}
}

func TestC80WhatIsTrueOfAnEarlierFormIsOutdated(t *testing.T) {
	done := world()
	done.Placement.Status = Summarize(done).Status
	for name, tc := range map[string]struct {
		generation int64
		status     placementv1.ClusterResourcePlacementStatus
		want       bool
	}{
		"C80: nothing was said yet":             {generation: 2},
		"C80: all was said of the present form": {1, done.Placement.Status, false},
		"C80: all was said of an earlier form":  {2, done.Placement.Status, true},
		"C80: what is not True is not believed": {2, placementv1.ClusterResourcePlacementStatus{Conditions: []metav1.Condition{{Status: metav1.ConditionFalse, ObservedGeneration: 1}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &placementv1.ClusterResourcePlacement{Status: tc.status}
			p.Generation = tc.generation
			if got := Outdated(p); got != tc.want {
				t.Errorf("outdated %t, want %t", got, tc.want)
			}
		})
	}
	done.Placement.Generation = 2 // edited, and nothing is decided of that yet
	s := Summarize(done)
	if len(s.Status.PlacementStatuses) != 0 || Outdated(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: s.Status}) {
		t.Errorf("of what is pending it says %+v", s.Status)
	}
}

// After each False condition of the placement, none that is True follows.
func TestC80NothingIsTrueBehindWhatIsNot(t *testing.T) {
	in := world(func(in *Input) { in.Policies[0].Status.Conditions[0].Status = metav1.ConditionFalse })
	before := world()
	in.Placement.Status = Summarize(before).Status // all was True
	list := Summarize(in).Status.Conditions
	for _, c := range list[1:] {
		if c.Status == metav1.ConditionTrue {
			t.Errorf("behind %s %s stands %s True", list[0].Type, list[0].Status, c.Type)
		}
	}
}

func TestWhatStaysNotFoundIsToldOnce(t *testing.T) {
	in := world(func(in *Input) {
		in.Placement.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType}
		in.Policies[0].Annotations[placementv1.AnnotationNumberOfClusters] = "5"
		c := &in.Policies[0].Status.Conditions[0]
		c.Status, c.Reason = metav1.ConditionFalse, placementv1.ReasonSchedulingPolicyUnfulfilled
	})
	first := Summarize(in).Status
	if n := len(first.PlacementStatuses); n != 5 {
		t.Fatalf("%d members are told of, want three and two that were not found", n)
	}
	in.Placement.Status, in.Now = first, now.Add(time.Hour)
	if d := cmp.Diff(first, Summarize(in).Status); d != "" {
		t.Errorf("an hour later (-first +now)\n%s", d)
	}
}

func TestC82FailedObjectsAreNamedUpToAHundred(t *testing.T) {
	var outcomes []Outcome
	for range 150 {
		outcomes = append(outcomes, failed("ConfigMap", ReasonConflict, "held by another"))
	}
	in := world()
	in.Works[0] = workOf(in.Bindings[0], outcomes...)
	in.Works[0].Labels[placementv1.LabelEnvelopeName] = "parcel"
	in.Snapshots[0].Annotations[placementv1.AnnotationNumberOfResourceSnapshots] = "0"
	in.Snapshots[0].Annotations[placementv1.AnnotationNumberOfEnvelopedObjects] = "1"
	got := Summarize(in).Status.PlacementStatuses[0].FailedPlacements
	if len(got) != 100 {
		t.Fatalf("%d are named, want 100", len(got))
	}
	want := placementv1.FailedResourcePlacement{
		ResourceIdentifier: placementv1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "application-1", Name: "a", Envelope: &placementv1.EnvelopeIdentifier{Name: "parcel", Type: "ConfigMap"}},
		Condition:          metav1.Condition{Type: "Applied", Status: "False", Reason: ReasonConflict, Message: "held by another", ObservedGeneration: 1},
	}
	if diff := cmp.Diff(want, got[0], cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
		t.Errorf("C92: the first (-want +got)\n%s", diff)
	}
}

func TestC85EventsOnceForEachGeneration(t *testing.T) {
	s := Summarize(world())
	var reasons, occasions []string
	for _, e := range Events(nil, s.Status.Conditions) {
		reasons, occasions = append(reasons, e.Reason), append(occasions, e.Occasion)
	}
	if !slices.IsSorted(occasions) || len(slices.Compact(occasions)) != len(reasons) {
		t.Errorf("occasions %q, want each once and in order", occasions)
	}
	want := []string{"PlacementRolloutStarted", "PlacementOverriddenSucceeded", "PlacementWorkSynchronized", "PlacementApplied", "PlacementRolloutCompleted"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if again := Events(s.Status.Conditions, s.Status.Conditions); len(again) != 0 {
		t.Errorf("told again: %v", again)
	}
}

func TestC73Availability(t *testing.T) {
	ready := map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1), "readyReplicas": int64(1)}
	for name, tc := range map[string]struct {
		obj  map[string]any
		want Availability
	}{
		"a Namespace at once":                    {done("Namespace", nil).Object, Available},
		"a ConfigMap at once":                    {done("ConfigMap", nil).Object, Available},
		"a Deployment whose replicas are there":  {done("Deployment", ready).Object, Available},
		"a Deployment whose replicas are not":    {done("Deployment", map[string]any{}).Object, NotYet},
		"a Job is not trackable":                 {done("Job", map[string]any{}).Object, NotTrackable},
		"a kind that nobody knows":               {done("Widget", nil).Object, NotTrackable},
		"a Service with an address":              {map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"clusterIP": "10.0.0.1"}}, Available},
		"a load balancer without an address yet": {map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "LoadBalancer"}}, NotYet},
		"an external name":                       {map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "ExternalName"}}, NotTrackable},
	} {
		if got := AvailabilityOf(kinds.Table{}, tc.obj); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestLeavesOut(t *testing.T) {
	in := world()
	if LeavesOut(in.Placement, in.Policies, "kind-cluster-1") || !LeavesOut(in.Placement, in.Policies, "kind-cluster-9") {
		t.Error("whom the decided policy leaves out")
	}
	in.Policies[0].Status.Conditions = nil
	if LeavesOut(in.Placement, in.Policies, "kind-cluster-9") || LeavesOut(in.Placement, nil, "kind-cluster-9") {
		t.Error("what is not decided leaves nobody out")
	}
}

// A member's object may become available before the Work says that it was applied:
// that news is the Work's, too.
func TestC73AWorkHasItsObjects(t *testing.T) {
	deployment := func(group, name string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: group + "/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	}
	result := placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "old"}}
	says := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: placementv1.ConditionApplied, Status: status, ObservedGeneration: 2}}
	}
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		key        propagation.TemplateKey
		want       bool
	}{
		"what it says it has":                            {says("True"), deployment("apps", "old"), true},
		"what it says it has, and that is under way":     {nil, deployment("apps", "old"), true},
		"one of its manifests, of which it says nothing": {nil, deployment("apps", "web"), true},
		"one of its manifests, after a failure":          {says("False"), deployment("apps", "web"), true},
		"another of that kind":                           {nil, deployment("apps", "api"), false},
		"another kind of that name":                      {nil, deployment("example.com", "web"), false},
		"where all is said only what it says counts":     {says("True"), deployment("apps", "web"), false},
	} {
		w := &propagation.Work{Generation: 2, Results: []placementv1.ManifestCondition{result}}
		w.Status.Conditions = tc.conditions
		w.Spec.Workload.Manifests = make([]workv1alpha1.Manifest, 2)
		w.Spec.Workload.Manifests[0].Raw = []byte(`what cannot be read`)
		w.Spec.Workload.Manifests[1].Raw = []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"},"spec":{}}`)
		if got := Has(w, tc.key); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestARollbackIsTold(t *testing.T) {
	in := world(func(in *Input) {
		newer := in.Snapshots[0].DeepCopy()
		newer.Name, newer.Labels[placementv1.LabelResourceIndex] = "crp-1-1-snapshot", "1"
		in.Snapshots[0].Labels[placementv1.LabelIsLatestSnapshot] = "false"
		in.Snapshots = append(in.Snapshots, newer)
	})
	last := func() metav1.Condition {
		all := Summarize(in).Status.Conditions
		return all[len(all)-1]
	}
	if c := last(); c.Reason != placementv1.ReasonRolloutNotStartedYet {
		t.Errorf("the members have an older snapshot, and it says %s", c.Reason)
	}
	in.Placement.Annotations = map[string]string{placing.AnnotationRollback: "0"}
	if c := last(); c.Reason != placementv1.ReasonResourceAvailable {
		t.Errorf("the members have what it is rolled back to, and it says %s", c.Reason)
	}
	if index := Summarize(in).Status.ObservedResourceIndex; index != "0" {
		t.Errorf("the observed index is %s, want 0", index)
	}
	in.Placement.Annotations[placing.AnnotationRollback] = "7" // which was pruned, or never was
	s := Summarize(in)
	started := meta.FindStatusCondition(s.Status.PlacementStatuses[0].Conditions, placementv1.ConditionRolloutStarted)
	if started.Reason != placementv1.ReasonRolloutNotStartedYet || !strings.Contains(started.Message, `"7"`) || s.Moving {
		t.Errorf("it is rolled back to nothing, and says %+v, moving: %t", started, s.Moving)
	}
}
