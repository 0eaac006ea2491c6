// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/outcome"
)

// evictingWorld is a placedWorld where somebody asks for an eviction.
type evictingWorld struct {
	placedWorld
	bindings []*placementv1.ClusterResourceBinding
	eviction *placementv1.ClusterResourcePlacementEviction
	// lag keeps the placement from who does not ask the API server.
	lag bool
}

func (w *evictingWorld) Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	if w.lag {
		return nil, outcome.ErrGone
	}
	return w.placedWorld.Placement(ctx, name)
}

func (w *evictingWorld) PlacementBindingsOf(context.Context, string) ([]*placementv1.ClusterResourceBinding, error) {
	return w.bindings, nil
}

func (w *evictingWorld) Eviction(context.Context, string) (*placementv1.ClusterResourcePlacementEviction, error) {
	return w.eviction, nil
}

func (w *evictingWorld) Evictions(context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	return []*placementv1.ClusterResourcePlacementEviction{w.eviction}, nil
}

func (w *evictingWorld) CommitEvictionStatus(_ context.Context, e *placementv1.ClusterResourcePlacementEviction, status placementv1.PlacementEvictionStatus) (*placementv1.ClusterResourcePlacementEviction, error) {
	next := e.DeepCopy()
	next.Status = status
	w.eviction = next
	w.writes++
	return next, nil
}

func (w *evictingWorld) DisruptionBudget(context.Context, string) (*placementv1.ClusterResourcePlacementDisruptionBudget, error) {
	return nil, outcome.ErrGone
}

// newEvictingWorld has a placement in member1 and member2, the second of which is tainted
// since, and is to be evicted.
func newEvictingWorld() *evictingWorld {
	w := &evictingWorld{}
	p := &placementv1.ClusterResourcePlacement{}
	p.Name = "shop"
	w.placements = append(w.placements, p)
	w.policy = inForce()
	w.policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue}}
	for _, name := range []string{"member1", "member2"} {
		w.members = append(w.members, healthy(name))
		b := &placementv1.ClusterResourceBinding{}
		b.Spec.TargetCluster, b.Spec.State = name, placementv1.BindingStateBound
		w.bindings = append(w.bindings, b)
		w.policy.Status.ClusterDecisions = append(w.policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: name, Selected: true})
	}
	w.members[1].Spec.Taints = []memberclusterv1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoSchedule}}
	w.eviction = &placementv1.ClusterResourcePlacementEviction{ObjectMeta: metav1.ObjectMeta{Name: "e", Generation: 1}}
	w.eviction.Spec = placementv1.PlacementEvictionSpec{PlacementName: "shop", ClusterName: "member2"}
	return w
}

func (w *evictingWorld) asked(t *testing.T) ([]event.Event, error) {
	t.Helper()
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(events.ResourceAdded)
	ref := map[string]any{"apiVersion": placementv1.SchemeGroupVersion.String(), "kind": placementv1.KindClusterResourcePlacementEviction, "name": "e"}
	if err := e.SetData("application/json", ref); err != nil {
		t.Fatal(err)
	}
	return New(noBindings{}, w, w, nil, func() time.Time { return noon }).Handle(t.Context(), e)
}

func (w *evictingWorld) picked() (names []string) {
	for _, d := range w.policy.Status.ClusterDecisions {
		if d.Selected {
			names = append(names, d.ClusterName)
		}
	}
	return names
}

func (w *evictingWorld) says(of string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(w.eviction.Status.Conditions, of); c != nil {
		return c.Status
	}
	return ""
}

func TestAnEvictionIsCarriedOutOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		when            func(w *evictingWorld)
		picked          []string
		valid, executed metav1.ConditionStatus
		told            int
	}{
		"the member is given up": {picked: []string{"member1"}, valid: metav1.ConditionTrue, executed: metav1.ConditionTrue, told: 1},
		"it is picked again where no taint keeps the placement away": {
			when:   func(w *evictingWorld) { w.members[1].Spec.Taints = nil },
			picked: []string{"member1", "member2"}, valid: metav1.ConditionTrue, executed: metav1.ConditionTrue, told: 1,
		},
		"it names a member that is not picked": {
			when:   func(w *evictingWorld) { w.eviction.Spec.ClusterName = "member9" },
			picked: []string{"member1", "member2"}, valid: metav1.ConditionFalse, told: 1,
		},
		"its placement is gone": {
			when:   func(w *evictingWorld) { w.placements = nil },
			picked: []string{"member1", "member2"}, valid: metav1.ConditionFalse,
		},
		"its placement leaves": {
			when:   func(w *evictingWorld) { w.placements[0].DeletionTimestamp = &metav1.Time{Time: noon} },
			picked: []string{"member1", "member2"}, valid: metav1.ConditionFalse, told: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEvictingWorld()
			if tc.when != nil {
				tc.when(w)
			}
			for again := range 2 {
				out, err := w.asked(t)
				if err != nil {
					t.Fatal(err)
				}
				if len(out) != tc.told {
					t.Errorf("told %v, want %d", out, tc.told)
				}
				if got := w.picked(); !slices.Equal(got, tc.picked) {
					t.Errorf("picked %v, want %v", got, tc.picked)
				}
				if w.says(placementv1.ConditionEvictionValid) != tc.valid || w.says(placementv1.ConditionEvictionExecuted) != tc.executed {
					t.Errorf("it says %+v", w.eviction.Status.Conditions)
				}
				if again > 0 && w.writes != 0 {
					t.Errorf("%d writes for an eviction that was decided", w.writes)
				}
				w.writes, tc.told = 0, 0 // it is decided: nothing follows
			}
		})
	}
}

// A watch that is late has not told of the placement yet: that it is not there is not known.
func TestAnEvictionOfAPlacementThatWasMadeAMomentAgoWaits(t *testing.T) {
	w := newEvictingWorld()
	w.lag = true
	if _, err := w.asked(t); !outcome.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if len(w.eviction.Status.Conditions) > 0 {
		t.Errorf("it says %+v", w.eviction.Status.Conditions)
	}
}
