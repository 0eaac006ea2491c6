// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// placed are the bindings of placements.
type placed struct {
	bindings []*placementv1.ClusterResourceBinding
	works    []*propagation.Work
}

func (p *placed) PlacementWorks(context.Context) ([]*propagation.Work, error) { return p.works, nil }

func (p *placed) PlacementBindings(context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return p.bindings, nil
}

// stored are positions.
type stored map[string]string

func (s stored) Load(context.Context) (map[string]string, error) { return s, nil }
func (s stored) Save(_ context.Context, name, position string) error {
	s[name] = position
	return nil
}

// told is what a sweep announces, which is then at its end.
func told(t *testing.T, now *tick.Tick, at map[string]string) []event.Event {
	t.Helper()
	if err := now.Save(t.Context(), stored(at)); err != nil {
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
			f := &placed{works: tc.works}
			if tc.binding != nil {
				f.bindings = []*placementv1.ClusterResourceBinding{tc.binding}
			}
			a, at := New(nil, nil).Placing(f), map[string]string{}
			for sweep := 1; sweep <= 2; sweep++ {
				now := tick.New(event.New(), at, time.Time{})
				if err := a.unplaced(t.Context(), now, Books{Ready: map[string]bool{tc.joined: true}}); err != nil {
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
