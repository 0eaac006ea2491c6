// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

// sized is a Work with so many manifests, which have so many bytes together, and a
// status that says of each object what say returns.
func sized(manifests, bytes int, say func(i int) placementv1.ManifestCondition) (*propagation.Work, placementv1.WorkStatus) {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "crp-1-work", Form: propagation.PlacementForm}, Generation: 3}
	s := placementv1.WorkStatus{Conditions: []metav1.Condition{{Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: reasonNotAllApplied, Message: "Failed to apply all manifests", ObservedGeneration: 3}}}
	raw := []byte(strings.Repeat(" ", bytes/max(manifests, 1)))
	for i := range manifests {
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
		s.ManifestConditions = append(s.ManifestConditions, say(i))
	}
	return w, s
}

func conditionOf(t string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: t, Status: status, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now)}
}

func details(n, bytes int) (out []placementv1.PatchDetail) {
	for i := range n {
		out = append(out, placementv1.PatchDetail{Path: fmt.Sprintf("/data/%d", i), ValueInMember: strings.Repeat("ä", bytes/2), ValueInHub: strings.Repeat("b", bytes)})
	}
	return out
}

// anyResult draws what is said of the objects of a Work.
func anyResult(t *rapid.T) func(i int) placementv1.ManifestCondition {
	longNames, message := rapid.Bool().Draw(t, "long names"), strings.Repeat("x", rapid.IntRange(0, conditions.MaxMessage).Draw(t, "message"))
	n, bytes := rapid.IntRange(0, 20).Draw(t, "differences"), rapid.IntRange(0, 4000).Draw(t, "bytes of a value")
	every := rapid.IntRange(1, 10).Draw(t, "one of so many fails")
	drifts := details(n, bytes)
	return func(i int) placementv1.ManifestCondition {
		r := placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{Ordinal: i, Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("cm-%05d", i)}}
		if longNames {
			r.Identifier.Name += strings.Repeat("n", 244)
			r.Identifier.Namespace += strings.Repeat("s", 59)
			r.Identifier.Group = strings.Repeat("g", 200)
		}
		if i%every == 0 {
			r.Conditions = []metav1.Condition{conditionOf(placementv1.ConditionApplied, metav1.ConditionFalse, ReasonConflict, message)}
			if n > 0 {
				r.DriftDetails = &placementv1.DriftDetails{ObservationTime: metav1.NewTime(now), FirstDriftedObservedTime: metav1.NewTime(now), ObservedDrifts: drifts}
				return r
			}
		} else {
			r.Conditions = []metav1.Condition{conditionOf(placementv1.ConditionApplied, metav1.ConditionTrue, ReasonApplied, "Manifest is applied"), conditionOf(placementv1.ConditionAvailable, metav1.ConditionTrue, string(Available), "Manifest is available")}
		}
		r.Applied = &placementv1.AppliedState{ManifestHash: strings.Repeat("a", 32), FieldsHash: strings.Repeat("b", 32), UID: types.UID(strings.Repeat("c", 36))}
		return r
	}
}

// Whatever there is to say of a Work, it fits into etcd beside what the Work says; what is
// cut is cut again in the same way, so that nothing is written because of it.
func TestC82Z29TheStatusOfAWorkFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		manifests := rapid.SampledFrom([]int{1, 17, 300, propagation.MaxManifests, 2500}).Draw(t, "manifests")
		bytes := rapid.IntRange(0, placing.SizeLimit).Draw(t, "bytes of manifests")
		w, s := sized(manifests, bytes, anyResult(t))
		whole := sizeOf(s)
		got := BoundWork(w, s)
		if n := sizeOf(got); n > maxStatus || n+bytes > maxObject {
			t.Errorf("%d bytes beside %d", n, bytes)
		}
		if d := cmp.Diff(got, BoundWork(w, got)); d != "" {
			t.Errorf("what was cut is cut again (-want +got)\n%s", d)
		}
		if d := cmp.Diff(got, BoundWork(w, s)); d != "" {
			t.Errorf("the same is cut otherwise (-want +got)\n%s", d)
		}
		if sizeOf(s) != whole {
			t.Error("what was given is changed")
		}
		applied := 0
		for _, r := range got.ManifestConditions {
			applied += number(r.Applied != nil)
		}
		want := 0
		for _, r := range s.ManifestConditions {
			want += number(r.Applied != nil)
		}
		if manifests <= propagation.MaxManifests && applied != want {
			t.Errorf("of %d objects that were applied %d are recorded", want, applied)
		}
		if cut := whole != sizeOf(got); cut != strings.Contains(got.Conditions[0].Message, roomFor) {
			t.Errorf("cut: %t, and it says %q", cut, got.Conditions[0].Message)
		}
	})
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// What a Work had before and does not say any more is found by its record alone.
func TestC15WhatHasToLeaveIsRecordedTheLongest(t *testing.T) {
	w, s := sized(5000, placing.SizeLimit, func(i int) placementv1.ManifestCondition {
		return placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{Ordinal: i, Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("cm-%05d", i)}, Applied: &placementv1.AppliedState{UID: types.UID(strings.Repeat("c", 36)), ManifestHash: strings.Repeat("a", 32)}}
	})
	former := s.ManifestConditions[0]
	former.Identifier.Name = "former"
	s.ManifestConditions = append(s.ManifestConditions, former)
	got := BoundWork(w, s).ManifestConditions
	if n := len(got); n > 5000 || n < 1000 || got[n-1].Identifier.Name != "former" {
		t.Errorf("%d objects, the last %+v", n, got[n-1].Identifier)
	}
}

// A drift that was seen before is not news because there was no room for all of it.
func TestC82ADriftThatIsSeenAgainHasItsTime(t *testing.T) {
	for name, was := range map[string][]placementv1.PatchDetail{
		"whole":    details(30, 1000),
		"short":    fields(details(30, 1000), maxDifferences, brief),
		"a few":    fields(details(30, 1000), fewFields, brief),
		"shortest": fields(details(30, 1000), maxDifferences, shortest),
		"none":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			earlier := metav1.NewTime(now.Add(-time.Hour))
			o := Outcome{Differs: details(30, 1000)}
			got := o.drift(&placementv1.ManifestCondition{DriftDetails: &placementv1.DriftDetails{ObservationTime: earlier, FirstDriftedObservedTime: earlier, ObservedDrifts: was}}, metav1.NewTime(now))
			if !got.ObservationTime.Equal(&earlier) {
				t.Errorf("it was seen at %s, want %s", got.ObservationTime, earlier)
			}
			o.Differs[0].ValueInHub = "another"
			got = o.drift(&placementv1.ManifestCondition{DriftDetails: &placementv1.DriftDetails{ObservationTime: earlier, FirstDriftedObservedTime: earlier, ObservedDrifts: was}}, metav1.NewTime(now))
			if len(was) > 0 && got.ObservationTime.Equal(&earlier) {
				t.Error("another drift is none")
			}
		})
	}
}

// crowd is the world with so many members, of which some fail, each with so many objects,
// and so many objects selected.
func crowd(members, failing, objects, selected int) Input {
	in := world()
	policy, snapshot := in.Policies[0], in.Snapshots[0]
	policy.Status.ClusterDecisions, in.Bindings, in.Works, in.Selected = nil, nil, nil, nil
	for i := range selected {
		in.Selected = append(in.Selected, placementv1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("cm-%05d", i)})
	}
	snapshot.Annotations[placing.AnnotationObjects] = fmt.Sprint(selected)
	bad := make([]Outcome, objects)
	for i := range bad {
		bad[i] = failed("ConfigMap", ReasonFoundDrifts, strings.Repeat("m", 900))
		bad[i].Manifest = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("cm-%05d", i), "namespace": "shop"}}
		bad[i].Differs = details(5, 500)
	}
	for i := range members {
		cluster := fmt.Sprintf("cluster-%04d", i)
		policy.Status.ClusterDecisions = append(policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: cluster, Selected: true, Reason: "picked by scheduling policy"})
		b := &placementv1.ClusterResourceBinding{}
		b.Name, b.Generation = "crp-1-"+cluster, 1
		b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: snapshot.Name, TargetCluster: cluster}
		in.Bindings = append(in.Bindings, b)
		if i < failing {
			in.Works = append(in.Works, workOf(b, bad...))
		} else {
			in.Works = append(in.Works, workOf(b))
		}
	}
	return in
}

func TestC13C82C84Z29TheStatusOfAPlacementFits(t *testing.T) {
	for name, tc := range map[string]struct {
		members, failing, objects, selected int
		says                                []string // in the last condition
	}{
		"a few":                     {members: 3, selected: 20},
		"many objects":              {members: 3, selected: 60000, says: []string{"of 60000 selected objects"}},
		"many that fail":            {members: 40, failing: 40, objects: 120, selected: 120, says: []string{roomFor}},
		"many members":              {members: 990, selected: 20, says: []string{roomFor}},
		"many of all that there is": {members: 990, failing: 60, objects: 60, selected: 60000, says: []string{"of 60000 selected objects", "of each member"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := crowd(tc.members, tc.failing, tc.objects, tc.selected)
			first := Summarize(in)
			if n := sizeOf(first.Status); n > maxStatus {
				t.Errorf("the status has %d bytes", n)
			}
			for cluster, b := range first.Members {
				if n := sizeOf(b.Status); n > maxStatus {
					t.Errorf("the status of the binding to %s has %d bytes", cluster, n)
				}
				b.Binding.Status = b.Status
			}
			if n := len(first.Status.PlacementStatuses); n != tc.members {
				t.Errorf("%d members are told of, want %d", n, tc.members)
			}
			message := first.Status.Conditions[len(first.Status.Conditions)-1].Message
			for _, want := range tc.says {
				if !strings.Contains(message, want) {
					t.Errorf("it says %q, want %q", message, want)
				}
			}
			if len(tc.says) == 0 && strings.Contains(message, roomFor) {
				t.Errorf("it says %q", message)
			}
			in.Placement.Status, in.Selected, in.Now = first.Status, nil, in.Now.Add(time.Hour)
			again := Summarize(in)
			if d := cmp.Diff(first.Status, again.Status); d != "" {
				t.Errorf("the same is written again (-want +got)\n%.2000s", d)
			}
			if d := cmp.Diff(first.Members, again.Members); d != "" {
				t.Errorf("the same is written again to a binding (-want +got)\n%.2000s", d)
			}
		})
	}
}

func TestZ29TheStatusOfABindingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := placementv1.ResourceBindingStatus{Conditions: []metav1.Condition{conditionOf(placementv1.ConditionApplied, metav1.ConditionFalse, "No", "no")}}
		n, bytes := rapid.IntRange(0, maxNamed).Draw(t, "differences"), rapid.IntRange(0, 2000).Draw(t, "bytes of a value")
		for i := range rapid.IntRange(0, maxNamed).Draw(t, "objects") {
			id := placementv1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: fmt.Sprint(i)}
			s.FailedPlacements = append(s.FailedPlacements, placementv1.FailedResourcePlacement{ResourceIdentifier: id, Condition: conditionOf("Applied", metav1.ConditionFalse, "No", strings.Repeat("x", bytes))})
			s.DriftedPlacements = append(s.DriftedPlacements, placementv1.DriftedResourcePlacement{ResourceIdentifier: id, ObservedDrifts: details(n, bytes)})
			s.DiffedPlacements = append(s.DiffedPlacements, placementv1.DiffedResourcePlacement{ResourceIdentifier: id, ObservedDiffs: details(n, bytes)})
		}
		was := sizeOf(s)
		got := boundBinding(s)
		if n := sizeOf(got); n > maxStatus {
			t.Errorf("%d bytes", n)
		}
		if sizeOf(s) != was {
			t.Error("what was given is changed")
		}
		if d := cmp.Diff(got, boundBinding(got)); d != "" {
			t.Errorf("what was cut is cut again (-want +got)\n%s", d)
		}
		if cut := was != sizeOf(got); cut != strings.Contains(got.Conditions[0].Message, roomFor) {
			t.Errorf("cut: %t, and it says %q", cut, got.Conditions[0].Message)
		}
	})
}

// A Work of as many manifests as may be says of all that they are there.
func TestC73OfAsManyManifestsAsMayBeEachIsToldOf(t *testing.T) {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "crp-1-work", Form: propagation.PlacementForm}, Generation: 1}
	var outcomes []Outcome
	for i := range propagation.MaxManifests {
		obj := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("a-name-of-usual-length-%05d", i), "namespace": "a-namespace-of-usual-length"}}
		outcomes = append(outcomes, Outcome{Manifest: obj, Object: obj, Reason: ReasonApplied, State: &placementv1.AppliedState{ManifestHash: strings.Repeat("a", 32), FieldsHash: strings.Repeat("b", 32), UID: types.UID(strings.Repeat("c", 36))}})
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(strings.Repeat(" ", placing.SizeLimit/propagation.MaxManifests))}})
	}
	s := WorkStatus(kinds.Table{}, w, outcomes, now)
	if d := cmp.Diff(s, BoundWork(w, s)); d != "" {
		t.Errorf("-want +got\n%.2000s", d)
	}
}
