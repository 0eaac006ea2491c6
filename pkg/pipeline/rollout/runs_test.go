// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// running is a world with a strategy of one stage that ends with an approval.
type running struct {
	*world
	requests []*placementv1.ClusterApprovalRequest
	// unplanned says that there is no strategy.
	unplanned bool
}

func newRunning(picked ...string) *running {
	w := &running{world: newWorld(picked...)}
	w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
	r := &placementv1.ClusterStagedUpdateRun{}
	r.Name, r.UID, r.Generation = "release", "run", 1
	r.Spec = placementv1.UpdateRunSpec{PlacementName: "shop", StagedUpdateStrategyName: "careful", State: placementv1.UpdateRunRun}
	w.runs = []*placementv1.ClusterStagedUpdateRun{r}
	return w
}

func (w *running) UpdateStrategy(context.Context, string) (*placementv1.ClusterStagedUpdateStrategy, error) {
	if w.unplanned {
		return nil, outcome.ErrGone
	}
	s := &placementv1.ClusterStagedUpdateStrategy{}
	s.Name = "careful"
	s.Spec.Stages = []placementv1.StageConfig{{
		Name: "all", LabelSelector: &metav1.LabelSelector{}, AfterStageTasks: []placementv1.StageTask{{Type: placementv1.StageTaskApproval}},
	}}
	return s, nil
}

func (w *running) Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	if w.placement == nil {
		return nil, nil
	}
	return w.world.Placements(ctx)
}

func (w *running) UpdateRun(_ context.Context, name string) (*placementv1.ClusterStagedUpdateRun, error) {
	for _, r := range w.runs {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, outcome.ErrGone
}

func (w *running) CommitUpdateRunStatus(_ context.Context, r *placementv1.ClusterStagedUpdateRun, status placementv1.UpdateRunStatus) (*placementv1.ClusterStagedUpdateRun, error) {
	next := r.DeepCopy()
	next.Status = status
	if message := text(status, placementv1.ConditionProgressing); message != text(r.Status, placementv1.ConditionProgressing) {
		w.writes = append(w.writes, "run: "+message)
	}
	w.runs[slices.Index(w.runs, r)] = next
	return next, nil
}

func text(status placementv1.UpdateRunStatus, of string) string {
	if c := meta.FindStatusCondition(status.Conditions, of); c != nil {
		return c.Reason
	}
	return ""
}

func (w *running) ApprovalRequest(_ context.Context, name string) (*placementv1.ClusterApprovalRequest, error) {
	for _, r := range w.requests {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, outcome.ErrGone
}

func (w *running) ApprovalRequests(context.Context) ([]*placementv1.ClusterApprovalRequest, error) {
	return w.requests, nil
}

func (w *running) CreateApprovalRequest(_ context.Context, r *placementv1.ClusterApprovalRequest) (*placementv1.ClusterApprovalRequest, error) {
	w.writes = append(w.writes, "request "+r.Name)
	w.requests = append(w.requests, r)
	return r, nil
}

func (w *running) CommitApprovalRequestStatus(_ context.Context, r *placementv1.ClusterApprovalRequest, status placementv1.ApprovalRequestStatus) (*placementv1.ClusterApprovalRequest, error) {
	w.writes = append(w.writes, "accepted "+r.Name)
	r.Status = status
	return r, nil
}

func (w *running) Fleet(context.Context) ([]*memberclusterv1.MemberCluster, error) { return nil, nil }

// sees gives the stage an event about an object, or about the placement if there is none,
// and checks what was written.
func (w *running) sees(t *testing.T, eventType, kind, name string, writes ...string) (told []string) {
	t.Helper()
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(eventType)
	var err error
	if kind == "" {
		err = e.SetData("application/json", events.Data{Placement: "shop"})
	} else {
		key := propagation.TemplateKey{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: kind, Name: name}
		e, err = events.NewResource("/test", eventType, events.Object{TemplateKey: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.writes = nil
	out, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.writes, writes) {
		t.Errorf("%s %s: writes %q, want %q", eventType, kind, w.writes, writes)
	}
	for _, o := range out {
		told = append(told, o.Type())
	}
	return told
}

func TestC61TheStageFollowsARun(t *testing.T) {
	w := newRunning("a", "b")
	if told := w.sees(t, events.ResourceAdded, placementv1.KindClusterStagedUpdateRun, "release"); !slices.Equal(told, []string{events.PlacementScheduled}) {
		t.Fatalf("told %q", told)
	}
	w.sees(t, events.PlacementScheduled, "", "", "run: UpdateRunProgressing", "a Bound shop-0-snapshot", "b Scheduled ")
	if told := w.sees(t, events.ResourceUpdated, placementv1.KindClusterStagedUpdateRun, "release"); told != nil {
		t.Errorf("its own writing is told: %q", told)
	}
	w.sees(t, events.PlacementScheduled, "", "")
	w.available(placementv1.ReasonAllWorkAvailable)
	w.sees(t, events.PlacementReported, "", "", "b Bound shop-0-snapshot")
	w.available(placementv1.ReasonAllWorkAvailable)
	w.sees(t, events.PlacementReported, "", "", "request release-after-all", "run: UpdateRunWaiting")
	w.sees(t, events.PlacementReported, "", "")
	meta.SetStatusCondition(&w.requests[0].Status.Conditions, metav1.Condition{Type: placementv1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "Seen"})
	if told := w.sees(t, events.ResourceUpdated, placementv1.KindClusterApprovalRequest, "release-after-all"); !slices.Equal(told, []string{events.PlacementScheduled}) {
		t.Fatalf("told %q", told)
	}
	w.sees(t, events.PlacementScheduled, "", "", "accepted release-after-all", "run: UpdateRunSucceeded")
	w.sees(t, events.PlacementScheduled, "", "")
	w.snapshot(1)
	w.sees(t, events.PlacementScheduled, "", "")
}

// A stage is measured once, when its last member is done, and an approval once.
func TestC104WhatARunTakesIsMeasured(t *testing.T) {
	w := newRunning("a")
	w.runs[0].Name = "measured"
	t.Cleanup(func() { forget("measured") })
	const (
		stages    = "fleet_workload_update_run_stage_cluster_updating_duration_seconds"
		approvals = "fleet_workload_update_run_approval_request_latency_seconds"
	)
	want := func(stage, approval []float64) {
		t.Helper()
		for metric, want := range map[string][]float64{stages: stage, approvals: approval} {
			if got := observed(t, metric, "measured"); !slices.Equal(got, want) {
				t.Errorf("%s, count and sum: %v, want %v", metric, got, want)
			}
		}
	}
	w.sees(t, events.PlacementScheduled, "", "", "run: UpdateRunProgressing", "a Bound shop-0-snapshot")
	want(nil, nil)
	w.now = w.now.Add(40 * time.Second)
	w.available(placementv1.ReasonAllWorkAvailable)
	w.sees(t, events.PlacementReported, "", "", "request measured-after-all", "run: UpdateRunWaiting")
	w.requests[0].CreationTimestamp = metav1.NewTime(w.now)
	want([]float64{1, 40}, nil)
	w.now = w.now.Add(90 * time.Second)
	meta.SetStatusCondition(&w.requests[0].Status.Conditions, metav1.Condition{
		Type: placementv1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "Seen", LastTransitionTime: metav1.NewTime(w.now),
	})
	w.now = w.now.Add(5 * time.Second)
	w.sees(t, events.PlacementScheduled, "", "", "accepted measured-after-all", "run: UpdateRunSucceeded")
	w.sees(t, events.PlacementScheduled, "", "")
	want([]float64{1, 40}, []float64{1, 90})
	w.runs = nil
	w.sees(t, events.ResourceDeleted, placementv1.KindClusterStagedUpdateRun, "measured")
	want(nil, nil)
}

// observed returns how often a metric of a run was observed, and the sum; nil: never.
func observed(t *testing.T, metric, run string) []float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == metric && m.GetLabel()[0].GetValue() == run {
				return []float64{float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()}
			}
		}
	}
	return nil
}

func TestC61RunsThatCannotBegin(t *testing.T) {
	w := newRunning("a")
	w.placement.Spec.Strategy.Type = placementv1.RollingUpdateRolloutStrategyType
	w.sees(t, events.PlacementReported, "", "", "a Bound shop-0-snapshot")
	w.sees(t, events.PlacementScheduled, "", "")
	if c := meta.FindStatusCondition(w.runs[0].Status.Conditions, placementv1.ConditionInitialized); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("Initialized is %v, want False", c)
	}
	w.placement, w.bindings = &placementv1.ClusterResourcePlacement{}, nil
	w.sees(t, events.PlacementScheduled, "", "")
	if c := meta.FindStatusCondition(w.runs[0].Status.Conditions, placementv1.ConditionInitialized); c == nil || c.Message != "there is no ClusterResourcePlacement shop" {
		t.Errorf("Initialized is %v", c)
	}
}

// A run whose strategy is missing says so, and begins when there is one.
func TestC61ARunWithoutAStrategy(t *testing.T) {
	w := newRunning("a")
	w.unplanned = true
	w.sees(t, events.PlacementScheduled, "", "", "a Scheduled ")
	if c := meta.FindStatusCondition(w.runs[0].Status.Conditions, placementv1.ConditionInitialized); c == nil || c.Message != "there is no ClusterStagedUpdateStrategy careful" {
		t.Errorf("Initialized is %v", c)
	}
	w.unplanned = false
	w.sees(t, events.PlacementScheduled, "", "", "run: UpdateRunProgressing", "a Bound shop-0-snapshot")
}

// A run that is made together with its placement, of which this process has heard nothing
// yet, begins a moment later.
func TestC61ARunWhosePlacementWasMadeThisMoment(t *testing.T) {
	w := newRunning("a")
	w.late = true
	w.sees(t, events.PlacementScheduled, "", "")
	if c := w.runs[0].Status.Conditions; len(c) > 0 {
		t.Errorf("the run says %v", c)
	}
}

// An override that is deleted takes its snapshots along: a binding that names one, and that
// no rollout replaces, is rendered, and says so.
func TestC61ABindingThatNamesAnOverrideThatIsGone(t *testing.T) {
	w := newRunning("a")
	w.runs = nil
	w.sees(t, events.PlacementScheduled, "", "", "a Scheduled ")
	w.bindings[0].Spec.State, w.bindings[0].Spec.ResourceSnapshotName = placementv1.BindingStateBound, "shop-0-snapshot"
	w.available(placementv1.ReasonAllWorkAvailable)
	if told := w.sees(t, events.PlacementScheduled, "", ""); told != nil {
		t.Errorf("told %q of what is as it should be", told)
	}
	w.bindings[0].Spec.ClusterResourceOverrideSnapshots = []string{"gone-0"}
	if told := w.sees(t, events.PlacementScheduled, "", ""); !slices.Contains(told, events.PlacementBound) {
		t.Errorf("told %q", told)
	}
}

func TestC61ARunWithoutAPlacementIsLookedAtOnTheTick(t *testing.T) {
	w := newRunning()
	w.placement = nil
	if told := w.sees(t, events.Ping, "", ""); !slices.Equal(told, []string{events.PlacementScheduled}) {
		t.Errorf("told %q", told)
	}
}
