// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

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
)

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
			Annotations: map[string]string{placementv1.AnnotationParentSnapshotName: snapshot},
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
		"no Work is there":                {binding: bound(), joined: "m1", want: true},
		"the first is missing":            {binding: bound(), works: all[1:], joined: "m1", want: true},
		"one of the others is missing":    {binding: bound(), works: all[:1], joined: "m1", want: true},
		"one is of an earlier snapshot":   {binding: bound(), works: []*propagation.Work{all[0], work("shop-0", "shop-0-snapshot", "")}, joined: "m1", want: true},
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
			f, now := &fleet{}, began
			if tc.binding != nil {
				f.bindings = []*placementv1.ClusterResourceBinding{tc.binding}
			}
			s := mirroringStage(f, &now)
			for sweep := 1; sweep <= 2; sweep++ {
				out := events.From(Name, event.New())
				if err := s.unplaced(t.Context(), tc.works, map[string]bool{tc.joined: true}, newRounds(nil), out); err != nil {
					t.Fatal(err)
				}
				told, err := out.Events()
				if err != nil {
					t.Fatal(err)
				}
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

// sown is a fleet whose hub lists the Works of placements.
type sown struct{ fleet }

func (s *sown) Namespaces(context.Context, string) ([]string, error) { return nil, nil }

func (s *sown) PlacementWorks(context.Context) ([]*propagation.Work, error) { return s.works, nil }

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
			b := &placementv1.ClusterResourceBinding{}
			b.Name, b.ResourceVersion, b.Labels = "shop-m1", "1", map[string]string{placementv1.LabelParentCRP: "shop"}
			b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: "shop-1-snapshot", TargetCluster: "m1"}
			w := &propagation.Work{
				Key: propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}, Created: began.Add(-time.Hour), Generation: 1,
				Labels:      map[string]string{placementv1.LabelParentCRP: "shop"},
				Annotations: map[string]string{placementv1.AnnotationParentSnapshotName: "shop-1-snapshot", rendering.AnnotationWorks: "1"},
			}
			w.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionApplied, Status: tc.applied, ObservedGeneration: 1}}
			f, now := &sown{fleet{works: []*propagation.Work{w}, bindings: []*placementv1.ClusterResourceBinding{b}}}, began
			s := New(f, nil, nil, nil, func() time.Time { return now }).Mirroring(f, nil)
			for range 2 {
				out := events.From(Name, event.New())
				r := newRounds(nil)
				none := func() ([]*propagation.Work, error) { return nil, nil }
				if err := s.unfinished(t.Context(), nil, none, map[string]bool{"m1": true}, r, out); err != nil {
					t.Fatal(err)
				}
				told, err := out.Events()
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range told {
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
