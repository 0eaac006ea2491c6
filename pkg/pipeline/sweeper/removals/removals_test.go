// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package removals

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// keeping is a hub with a cluster m1 and what is held there.
type keeping struct {
	Hub
	bindings []*propagation.Binding
	lists    int // of all bindings
	works    []*propagation.Work
	features propagation.Features
	cluster  *clusterv1alpha1.Cluster
	told     []string
	// conflict has the first write of a binding fail.
	conflict bool
	writes   int
}

func (k *keeping) Cluster(context.Context, string) (*clusterv1alpha1.Cluster, error) {
	return k.cluster, nil
}

func (k *keeping) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	return []*clusterv1alpha1.Cluster{k.cluster}, nil
}

func (k *keeping) Features(context.Context) (propagation.Features, error) { return k.features, nil }

func (k *keeping) Record(_ context.Context, about hub.About, _, reason, _ string) {
	k.told = append(k.told, about.Kind+" "+about.Name+" "+reason)
}

func (k *keeping) CommitClusterStatus(_ context.Context, _ *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error {
	k.cluster = k.cluster.DeepCopy()
	k.cluster.Status = status
	k.writes++
	return nil
}

func (k *keeping) CommitBinding(_ context.Context, old, next *propagation.Binding) (*propagation.Binding, error) {
	if k.conflict {
		k.conflict = false
		return nil, outcome.Conflict(fmt.Errorf("%s: somebody wrote it", old.Key))
	}
	for i := range k.bindings {
		if k.bindings[i].Key == old.Key {
			k.bindings[i] = next
		}
	}
	k.writes++
	return next, nil
}

// keep is a hub with so many bindings that m1 keeps.
func keep(n int) *keeping {
	k := &keeping{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}}
	for i := range n {
		b := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app%02d", i)}, Labels: map[string]string{propagation.ClaimLabelNamespaced: "id"}}
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Name = "v1", "ConfigMap", b.Key.Name
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: "m1"})
		k.bindings = append(k.bindings, b.WithRemovals(map[string]propagation.Removal{"m1": {Held: noonHeld}}))
	}
	return k
}

var noonHeld = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// judge lets the sweeper judge, and returns how many bindings it has scheduled, and
// what it tells of policies.
func (k *keeping) judge(t *testing.T) (woken int, held string) {
	t.Helper()
	out := events.From(tick.Stage, event.Event{})
	s := New(k, func() time.Time { return noonHeld.Add(time.Minute) })
	of, err := s.Sweep(t.Context(), page.All(k.bindings), func() ([]*propagation.Work, error) { return k.works, nil }, out)
	if err != nil {
		t.Fatal(err)
	}
	all, err := out.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Type() == events.BindingActivated {
			woken++
		}
	}
	for _, text := range of {
		held += text
	}
	return woken, held
}

func (k *keeping) says(status metav1.ConditionStatus) bool {
	return conditions.Is(k.cluster.Status.Conditions, clusterv1alpha1.ConditionRemovalHeld, status)
}

func TestZ12WithinTheBudgetItGoes(t *testing.T) {
	k := keep(10)
	if woken, held := k.judge(t); woken != 10 || held != "" || len(k.cluster.Status.Conditions) > 0 || len(k.told) > 0 {
		t.Errorf("%d go, held %q, the Cluster says %v", woken, held, k.cluster.Status.Conditions)
	}
	for _, b := range k.bindings {
		if b.HoldsRemoval("m1") {
			t.Errorf("%s is held still", b.Key)
		}
	}
	writes := k.writes
	if woken, _ := k.judge(t); woken != 10 || k.writes != writes {
		t.Errorf("a second look wakes %d and writes %d times", woken, k.writes-writes)
	}
}

func TestZ12BeyondTheBudgetAllStays(t *testing.T) {
	k := keep(11)
	woken, held := k.judge(t)
	if woken != 0 || !strings.Contains(held, "11 in m1") || !k.says(metav1.ConditionTrue) || fmt.Sprint(k.told) != "[Cluster m1 RemovalHeld]" {
		t.Errorf("%d go, held %q, the Cluster says %v, told %v", woken, held, k.cluster.Status.Conditions, k.told)
	}
	writes := k.writes
	k.judge(t)
	if k.writes != writes || len(k.told) != 1 {
		t.Errorf("a second look writes %d times and tells %v", k.writes-writes, k.told)
	}
	// Some of it is wanted again: the rest stays.
	k.bindings = k.bindings[:3]
	if woken, _ := k.judge(t); woken != 0 || !k.says(metav1.ConditionTrue) {
		t.Errorf("%d go", woken)
	}
	// All of it is.
	k.bindings = nil
	if woken, held := k.judge(t); woken != 0 || held != "" || !k.says(metav1.ConditionFalse) {
		t.Errorf("%d go, held %q, the Cluster says %v", woken, held, k.cluster.Status.Conditions)
	}
	writes = k.writes
	k.judge(t)
	if k.writes != writes {
		t.Error("what is over is written again")
	}
}

func TestZ12ApprovedIsScheduled(t *testing.T) {
	k := keep(11)
	k.judge(t)
	for i, b := range k.bindings {
		k.bindings[i] = b.WithRemovals(map[string]propagation.Removal{"m1": {Held: noonHeld, Approved: true}})
	}
	if woken, held := k.judge(t); woken != 11 || held != "" || !k.says(metav1.ConditionFalse) {
		t.Errorf("%d go, held %q, the Cluster says %v", woken, held, k.cluster.Status.Conditions)
	}
}

func TestZ12WithoutABudgetAllGoes(t *testing.T) {
	k := keep(11)
	k.judge(t)
	k.features.Budget = propagation.BudgetOff
	if woken, _ := k.judge(t); woken != 11 || !k.says(metav1.ConditionFalse) {
		t.Errorf("%d go, the Cluster says %v", woken, k.cluster.Status.Conditions)
	}
}

// A binding that somebody writes meanwhile is let go by the next look.
func TestZ12LostRaceIsLookedAtAgain(t *testing.T) {
	k := keep(3)
	k.conflict = true
	if woken, _ := k.judge(t); woken != 2 {
		t.Errorf("%d go", woken)
	}
	if woken, _ := k.judge(t); woken != 3 {
		t.Errorf("then %d go", woken)
	}
}

// Of those that were deleted some are made anew before others: that few are held yet
// is no reason to let them go, nor to say that nothing is.
func TestZ12BindingsThatAreMadeAnewAreWaitedFor(t *testing.T) {
	k := keep(14)
	all := k.bindings
	for _, b := range all {
		k.works = append(k.works, &propagation.Work{
			Key:         propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(b.Key)},
			Annotations: map[string]string{propagation.AnnotationBindingNamespace: b.Key.Namespace, propagation.AnnotationBindingName: b.Key.Name},
		})
	}
	k.judge(t)
	if !k.says(metav1.ConditionTrue) {
		t.Fatal("it is not held")
	}
	k.bindings = nil
	if k.judge(t); !k.says(metav1.ConditionTrue) {
		t.Error("the Cluster says that nothing is held")
	}
	k.cluster = k.cluster.DeepCopy()
	k.cluster.Status.Conditions = nil
	k.bindings = append([]*propagation.Binding(nil), all[:5]...)
	if woken, _ := k.judge(t); woken != 0 || len(k.cluster.Status.Conditions) > 0 {
		t.Errorf("%d go, the Cluster says %v", woken, k.cluster.Status.Conditions)
	}
	k.bindings = all
	if woken, held := k.judge(t); woken != 0 || !k.says(metav1.ConditionTrue) || !strings.Contains(held, "14 in m1") {
		t.Errorf("%d go, held %q", woken, held)
	}
	// A few templates that are deleted meanwhile stop nobody.
	k.cluster.Status.Conditions = nil
	k.bindings = append([]*propagation.Binding(nil), all[:5]...)
	k.works = k.works[:10]
	if woken, _ := k.judge(t); woken != 5 {
		t.Errorf("%d go", woken)
	}
}

func (k *keeping) Bindings(context.Context) ([]*propagation.Binding, error) {
	k.lists++
	return k.bindings, nil
}

func (k *keeping) ListBindings(_ context.Context, _ string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	some, next := fixture.Page(k.bindings, limit, cont)
	return some, next, nil
}

func (k *keeping) RemovingBindings(context.Context) (labelled []*propagation.Binding, err error) {
	for _, b := range k.bindings {
		if b.Labels[propagation.LabelRemoving] != "" {
			labelled = append(labelled, b)
		}
	}
	return labelled, nil
}

// TestZ12WhatIsHeldIsJudgedWhicheverPageItIsOn: and where nothing is held, nothing is
// listed.
func TestZ12WhatIsHeldIsJudgedWhicheverPageItIsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		held  int
		lists int
		woken int
	}{
		"nothing is held":                   {0, 0, 0},
		"one is, on a page that comes late": {1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(20)
			for i, b := range k.bindings {
				if i < len(k.bindings)-tc.held {
					k.bindings[i] = b.WithRemovals(nil)
				}
			}
			out := events.From(tick.Stage, event.Event{})
			p, err := page.Open(t.Context(), tick.New(event.New(), nil, noonHeld), k, 5)
			if err != nil {
				t.Fatal(err)
			}
			works := func() ([]*propagation.Work, error) { return k.works, nil }
			if _, err := New(k, func() time.Time { return noonHeld.Add(time.Minute) }).Sweep(t.Context(), p, works, out); err != nil {
				t.Fatal(err)
			}
			all, err := out.Events()
			if err != nil || len(all) != tc.woken || k.lists != tc.lists {
				t.Errorf("%d are let go, after %d lists of all; want %d, %d; %v", len(all), k.lists, tc.woken, tc.lists, err)
			}
		})
	}
}
