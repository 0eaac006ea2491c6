// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

var placements = schema.GroupVersionResource{Group: placementv1.GroupName, Version: "v1", Resource: placementv1.ResourceClusterResourcePlacements}

var (
	policySnapshots   = schema.GroupVersionResource{Group: placementv1.GroupName, Version: "v1", Resource: placementv1.ResourceClusterSchedulingPolicySnapshots}
	placedWorks       = schema.GroupVersionResource{Group: placementv1.GroupName, Version: "v1", Resource: placementv1.ResourceWorks}
	placementBindings = schema.GroupVersionResource{Group: placementv1.GroupName, Version: "v1", Resource: placementv1.ResourceClusterResourceBindings}
)

// stripped takes off by what an object is known to be a placement's.
const stripped = `{"metadata":{"labels":null,"annotations":null}}`

// TestPlacements: what the placer, the scheduler and the rollout write and read,
// whether it is watched or not.
func TestPlacements(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			l := newLab(t)
			name := l.namespace
			l.somebodyMakes(placements, `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: `+name+`},
  spec: {resourceSelectors: [{group: "", version: v1, kind: Namespace, name: `+name+`}]}}`)
			t.Cleanup(func() { l.somebodyDeletesLater(placements, name) })
			if watched {
				for _, gvk := range hub.PlacingKinds() {
					l.watch(gvk)
				}
			}
			p, err := l.Placement(l.ctx, name)
			must(t, err)
			held := p.DeepCopy()
			held.Finalizers = []string{placementv1.FinalizerPlacement}
			p, err = l.CommitPlacement(l.ctx, p, held)
			must(t, err)
			l.testResourceSnapshots(p, watched)
			l.testPolicySnapshots(p)
			l.testPlacementBindings(p)
			released := p.DeepCopy()
			released.Finalizers = nil
			_, err = l.CommitPlacement(l.ctx, p, released)
			must(t, err)
		})
	}
}

func partOf(p *placementv1.ClusterResourcePlacement, format string, values ...any) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:   p.Name + "-" + fmt.Sprintf(format, values...),
		Labels: map[string]string{placementv1.LabelParentCRP: p.Name, placementv1.LabelIsLatestSnapshot: "true"},
	}
}

func (l *lab) testResourceSnapshots(p *placementv1.ClusterResourcePlacement, watched bool) {
	t := l.t
	t.Helper()
	content := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"<&>"}}`
	next := &placementv1.ClusterResourceSnapshot{ObjectMeta: partOf(p, "0-snapshot"), Spec: placementv1.ResourceSnapshotSpec{
		SelectedResources: []placementv1.ResourceContent{{RawExtension: runtime.RawExtension{Raw: []byte(content)}}},
	}}
	s, err := l.CommitResourceSnapshot(l.ctx, nil, next)
	must(t, err)
	if len(s.Spec.SelectedResources) > 0 {
		t.Error("the content is kept in memory")
	}
	if _, err := l.CommitResourceSnapshot(l.ctx, nil, next); !outcome.IsConflict(err) {
		t.Errorf("made twice: %v, want a conflict", err)
	}
	whole, err := l.ResourceSnapshot(l.ctx, s.Name)
	must(t, err)
	var want, got map[string]any
	must(t, json.Unmarshal([]byte(content), &want))
	must(t, json.Unmarshal(whole.Spec.SelectedResources[0].Raw, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	old := s.DeepCopy()
	old.Labels[placementv1.LabelIsLatestSnapshot] = "false"
	s, err = l.CommitResourceSnapshot(l.ctx, s, old)
	must(t, err)
	l.requests.take()
	same, err := l.CommitResourceSnapshot(l.ctx, s, s.DeepCopy())
	must(t, err)
	l.wantRequests()
	all, err := l.ResourceSnapshotsOf(l.ctx, p.Name)
	must(t, err)
	if len(all) != 1 || all[0].Labels[placementv1.LabelIsLatestSnapshot] != "false" || len(all[0].Spec.SelectedResources) > 0 || same != s {
		t.Errorf("snapshots: %+v", all)
	}
	if n := len(l.requests.take()); watched != (n == 0) {
		t.Errorf("%d requests for the list", n)
	}
	if whole, err = l.ResourceSnapshot(l.ctx, s.Name); err != nil || len(whole.Spec.SelectedResources) != 1 {
		t.Errorf("the content after its label changed: %+v, %v", whole, err)
	}
	stale := s.DeepCopy()
	stale.ResourceVersion = "1"
	if err := l.DeleteResourceSnapshot(l.ctx, stale); !outcome.IsConflict(err) {
		t.Errorf("deleted in an old version: %v, want a conflict", err)
	}
	must(t, l.DeleteResourceSnapshot(l.ctx, s))
	must(t, l.DeleteResourceSnapshot(l.ctx, s))
	if _, err := l.ResourceSnapshot(l.ctx, s.Name); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("deleted: %v, want gone", err)
	}
}

func (l *lab) testPolicySnapshots(p *placementv1.ClusterResourcePlacement) {
	t := l.t
	t.Helper()
	next := &placementv1.ClusterSchedulingPolicySnapshot{ObjectMeta: partOf(p, "0"), Spec: placementv1.SchedulingPolicySnapshotSpec{
		Policy: &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType}, PolicyHash: []byte("hash"),
	}}
	s, err := l.CommitPolicySnapshot(l.ctx, nil, next)
	must(t, err)
	status := placementv1.SchedulingPolicySnapshotStatus{
		ObservedCRPGeneration: 1, ClusterDecisions: []placementv1.ClusterDecision{{ClusterName: "member1", Selected: true, Reason: "picked by scheduling policy"}},
	}
	s, err = l.CommitPolicySnapshotStatus(l.ctx, s, status)
	must(t, err)
	l.requests.take()
	_, err = l.CommitPolicySnapshotStatus(l.ctx, s, status)
	must(t, err)
	l.wantRequests()
	changed := s.DeepCopy()
	changed.Spec.Policy.PlacementType = placementv1.PickAllPlacementType
	if _, err := l.CommitPolicySnapshot(l.ctx, s, changed); !outcome.IsTerminal(err) {
		t.Errorf("C26: the spec was changed: %v, want invalid", err)
	}
	all, err := l.PolicySnapshotsOf(l.ctx, p.Name)
	must(t, err)
	if len(all) != 1 || !cmp.Equal(all[0].Status, status) {
		t.Errorf("snapshots: %+v", all)
	}
	l.somebodyPatches(policySnapshots, "", s.Name, stripped)
	s, err = l.CommitPolicySnapshot(l.ctx, nil, next)
	must(t, err)
	if s.UID != all[0].UID || s.Labels[placementv1.LabelParentCRP] != p.Name || !cmp.Equal(s.Status, status) {
		t.Errorf("without its labels it was not taken over: %+v", s)
	}
	l.somebodyPatches(policySnapshots, "", s.Name, stripped)
	next.Spec.PolicyHash = []byte("another")
	if _, err := l.CommitPolicySnapshot(l.ctx, nil, next); !outcome.IsConflict(err) {
		t.Errorf("without labels, of another policy: %v, want a conflict", err)
	}
	s, err = l.CommitPolicySnapshot(l.ctx, nil, next)
	must(t, err)
	must(t, l.DeletePolicySnapshot(l.ctx, s))
}

func (l *lab) testPlacementBindings(p *placementv1.ClusterResourcePlacement) {
	t := l.t
	t.Helper()
	next := &placementv1.ClusterResourceBinding{ObjectMeta: partOf(p, "member1"), Spec: placementv1.ResourceBindingSpec{
		State: placementv1.BindingStateScheduled, TargetCluster: "member1",
		ClusterDecision: placementv1.ClusterDecision{ClusterName: "member1", Selected: true, Reason: "picked by scheduling policy"},
	}}
	b, err := l.CommitPlacementBinding(l.ctx, nil, next)
	must(t, err)
	bound := b.DeepCopy()
	bound.Spec.State, bound.Spec.ResourceSnapshotName = placementv1.BindingStateBound, p.Name+"-0-snapshot"
	was := b
	b, err = l.CommitPlacementBinding(l.ctx, b, bound)
	must(t, err)
	if _, err := l.CommitPlacementBinding(l.ctx, was, bound); !outcome.IsConflict(err) {
		t.Errorf("on an old version: %v, want a conflict", err)
	}
	l.requests.take()
	all, err := l.PlacementBindingsOf(l.ctx, p.Name)
	must(t, err)
	if len(all) != 1 || all[0].Spec.State != placementv1.BindingStateBound || all[0].Generation != 2 {
		t.Errorf("bindings: %+v", all)
	}
	if n := len(l.requests.take()); n > 1 {
		t.Errorf("%d requests for the list", n)
	}
	if _, err := l.CommitPlacementBinding(l.ctx, nil, next); !outcome.IsConflict(err) {
		t.Errorf("made twice: %v, want a conflict", err)
	}
	l.somebodyPatches(placementBindings, "", b.Name, `{"metadata":{"labels":{"`+placementv1.LabelParentCRP+`":"another"}}}`)
	again, err := l.CommitPlacementBinding(l.ctx, nil, next)
	must(t, err)
	if again.UID != b.UID || again.Labels[placementv1.LabelParentCRP] != p.Name || again.Spec.State != placementv1.BindingStateScheduled {
		t.Errorf("without its labels it was not taken over: %+v", again)
	}
	must(t, l.DeletePlacementBinding(l.ctx, again))
}
