// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// unasked is what a test is not asked for.
type unasked = Placements

// placed are the bindings of placements.
type placed struct {
	unasked
	bindings []*placementv1.ClusterResourceBinding
	works    []*propagation.Work
}

func (p *placed) PlacementWorks(context.Context) ([]*propagation.Work, error) { return p.works, nil }

func (p *placed) PlacementBindings(context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return p.bindings, nil
}

// told is what a sweep announces, which is then at its end.
func told(t *testing.T, now *tick.Tick, at map[string]string) []event.Event {
	t.Helper()
	if err := now.Save(t.Context(), fixture.Positions(at)); err != nil {
		t.Fatal(err)
	}
	all, err := now.Out.Events()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatAPlacementLacksInTwoSweepsIsAnnounced(t *testing.T) {
	bound := func(change ...func(*placementv1.ClusterResourceBinding)) *placementv1.ClusterResourceBinding {
		b := &placementv1.ClusterResourceBinding{}
		b.Name, b.ResourceVersion, b.Labels = "shop-m1", "1", map[string]string{placementv1.LabelParentCRP: "shop"}
		b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: "shop-1-snapshot", TargetCluster: "m1"}
		for _, c := range change {
			c(b)
		}
		return b
	}
	work := func(name, snapshot, count string) *propagation.Work {
		w := &propagation.Work{
			Key:         propagation.WorkKey{Cluster: "m1", Name: name, Form: propagation.PlacementForm},
			Labels:      map[string]string{placementv1.LabelParentCRP: "shop"},
			Annotations: rendering.Origin(placementv1.ResourceBindingSpec{ResourceSnapshotName: snapshot}),
		}
		if count != "" {
			w.Annotations[rendering.AnnotationWorks] = count
		}
		return w
	}
	all := []*propagation.Work{work("shop-work", "shop-1-snapshot", "2"), work("shop-0", "shop-1-snapshot", "")}
	for name, tc := range map[string]struct {
		binding *placementv1.ClusterResourceBinding
		written bool // between the sweeps
		works   []*propagation.Work
		joined  string
		want    bool
	}{
		"no Work is there":              {binding: bound(), joined: "m1", want: true},
		"the first is missing":          {binding: bound(), works: all[1:], joined: "m1", want: true},
		"one of the others is missing":  {binding: bound(), works: all[:1], joined: "m1", want: true},
		"one is of an earlier snapshot": {binding: bound(), works: []*propagation.Work{all[0], work("shop-0", "shop-0-snapshot", "")}, joined: "m1", want: true},
		"they are made by other overrides": {binding: bound(func(b *placementv1.ClusterResourceBinding) {
			b.Spec.ClusterResourceOverrideSnapshots = []string{"o-0"}
		}), works: all, joined: "m1", want: true},
		"their overrides saw another member": {binding: bound(func(b *placementv1.ClusterResourceBinding) {
			b.Spec.OverriddenFor = &placementv1.OverriddenFor{Labels: map[string]string{"env": "prod"}}
		}), works: all, joined: "m1", want: true},
		"all are there":                   {binding: bound(), works: all, joined: "m1"},
		"somebody wrote the binding":      {binding: bound(), written: true, joined: "m1"},
		"the cluster left":                {binding: bound(), joined: "m2"},
		"it is picked, and gets it later": {binding: bound(func(b *placementv1.ClusterResourceBinding) { b.Spec.State = placementv1.BindingStateScheduled }), joined: "m1"},
		"its Works cannot be made": {binding: bound(func(b *placementv1.ClusterResourceBinding) {
			b.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionOverridden, Status: metav1.ConditionFalse}}
		}), joined: "m1"},
		"its binding is missing": {works: all, joined: "m1", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &placed{works: tc.works}
			if tc.binding != nil {
				f.bindings = []*placementv1.ClusterResourceBinding{tc.binding}
			}
			a, at := New(nil, nil, nil).Placing(f), map[string]string{}
			for sweep := 1; sweep <= 2; sweep++ {
				now := tick.New(event.New(), at, time.Time{})
				if _, err := a.unplaced(t.Context(), now, Books{Ready: map[string]bool{tc.joined: true}}); err != nil {
					t.Fatal(err)
				}
				told := told(t, now, at)
				if got, want := len(told) > 0, sweep == 2 && tc.want; got != want {
					t.Errorf("sweep %d announces: %t, want %t", sweep, got, want)
				}
				if tc.written {
					tc.binding.ResourceVersion = "2"
				}
			}
		})
	}
}

// books is a hub without anything of policies.
type books struct{ Hub }

func (*books) Namespaces(context.Context, string) ([]string, error) { return nil, nil }

// What a placement has given to a member is not announced again; what the member
// refused, or was not there to take, is.
func TestWhatAPlacementHasGivenIsNotAnnounced(t *testing.T) {
	for name, tc := range map[string]struct {
		applied metav1.ConditionStatus
		want    []string
	}{
		"the member has it":     {applied: metav1.ConditionTrue},
		"the member refused it": {applied: metav1.ConditionFalse, want: []string{events.WorkRendered}},
		"nothing was said yet":  {applied: metav1.ConditionUnknown, want: []string{events.WorkRendered}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
			b := &placementv1.ClusterResourceBinding{}
			b.Name, b.ResourceVersion, b.Labels = "shop-m1", "1", map[string]string{placementv1.LabelParentCRP: "shop"}
			b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: "shop-1-snapshot", TargetCluster: "m1"}
			w := &propagation.Work{
				Key: propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}, Created: now.Add(-time.Hour), Generation: 1,
				Labels:      map[string]string{placementv1.LabelParentCRP: "shop"},
				Annotations: rendering.Origin(b.Spec),
			}
			w.Annotations[rendering.AnnotationWorks] = "1"
			w.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionApplied, Status: tc.applied, ObservedGeneration: 1}}
			f := &placed{works: []*propagation.Work{w}, bindings: []*placementv1.ClusterResourceBinding{b}}
			auditor, at := New(&books{}, nil, func() time.Time { return now }).Placing(f), map[string]string{}
			ready := map[string]bool{"m1": true}
			for range 2 {
				sweep := tick.New(event.New(), at, now)
				if err := auditor.Sweep(t.Context(), sweep, Books{Page: page.All(nil), Ready: ready, Here: ready}); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range told(t, sweep, at) {
					got = append(got, e.Type())
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("announced (-want +got):\n%s", diff)
				}
				now = now.Add(2 * time.Second)
			}
		})
	}
}
