// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding may name a snapshot that is not there: a misspelled one where somebody else
// rolls out, or one that is deleted while the placement is rolled back to it. That is
// said on the binding, and the placer hears of it once, or the stages would go round.
func TestABindingToASnapshotThatIsMissing(t *testing.T) {
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}})
	b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "crp-1-m1", Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}, Generation: 2}}
	b.Spec.State, b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, "m1", "crp-1-7-snapshot"
	h.Put(b)
	told := func() (types []string) {
		e, err := events.New("test", event.New(), events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := renderer.New(h, func() time.Time { return fixture.Start }).Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			types = append(types, o.Type())
		}
		return types
	}
	if diff := cmp.Diff([]string{events.PlacementTouched, events.PlacementWaiting}, told()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	all, err := h.PlacementBindingsOf(t.Context(), "crp-1")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	c := meta.FindStatusCondition(all[0].Status.Conditions, placementv1.ConditionWorkSynchronized)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != all[0].Generation || !strings.Contains(c.Message, "crp-1-7-snapshot") {
		t.Errorf("it says %+v", c)
	}
	if diff := cmp.Diff([]string{events.PlacementWaiting}, told()); diff != "" {
		t.Errorf("told again (-want +got):\n%s", diff)
	}
}

// Z11: of a member whose overrides nobody deleted, the binding says that it keeps what it has,
// and why, as the rollout noted it.
func TestZ11ABindingToOverridesThatNobodyDeleted(t *testing.T) {
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}})
	h.Put(snapshotOfSecret(8))
	b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-m1", Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}, Annotations: map[string]string{rollout.AnnotationUndefined: "ClusterResourceOverride gold"},
	}}
	b.Spec.State, b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, "m1", "crp-1-7-snapshot"
	b.Spec.ClusterResourceOverrideSnapshots = []string{"gold-0"}
	h.Put(b)
	if _, err := handleBound(t, h); err != nil {
		t.Fatal(err)
	}
	all, err := h.PlacementBindingsOf(t.Context(), "crp-1")
	if err != nil {
		t.Fatal(err)
	}
	c := meta.FindStatusCondition(all[0].Status.Conditions, placementv1.ConditionWorkSynchronized)
	if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "overrides (ClusterResourceOverride gold) went with the definition of their kind") {
		t.Errorf("it says %+v", c)
	}
	if works, err := h.WorksOfPlacement(t.Context(), "crp-1"); err != nil || len(works) > 0 {
		t.Errorf("%d Works were made (%v)", len(works), err)
	}
}

// Z29: a Secret that fits into no Work is named on the binding, until it is smaller.
func TestZ29ASecretOfAPlacementThatNoWorkCanCarry(t *testing.T) {
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	h.Put(&placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp-1"}})
	b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "crp-1-m1", Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}}}
	b.Spec.State, b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, "m1", "crp-1-7-snapshot"
	h.Put(b)
	synchronized := func(data int) *metav1.Condition {
		h.Put(snapshotOfSecret(data))
		e, err := events.New("test", event.New(), events.PlacementBound, events.Data{Placement: "crp-1", Cluster: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := renderer.New(h, func() time.Time { return fixture.Start }).Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		all, err := h.PlacementBindingsOf(t.Context(), "crp-1")
		if err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(all[0].Status.Conditions, placementv1.ConditionWorkSynchronized)
	}
	if c := synchronized(1 << 20); c == nil || c.Reason != placementv1.ReasonTooLarge || !strings.Contains(c.Message, "Secret shop/big has") {
		t.Errorf("it says %+v", c)
	}
	if c := synchronized(1 << 10); c != nil {
		t.Errorf("it still says %+v", c)
	}
}

func snapshotOfSecret(data int) *placementv1.ClusterResourceSnapshot {
	s := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
		Name: "crp-1-7-snapshot", Labels: map[string]string{placementv1.LabelParentCRP: "crp-1", placementv1.LabelResourceIndex: "7"},
		Annotations: map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1"},
	}}
	raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"big","namespace":"shop"},"data":{"x":%q}}`, strings.Repeat("A", data))
	s.Spec.SelectedResources = []placementv1.ResourceContent{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	return s
}
