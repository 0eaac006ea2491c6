// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
)

// world carries out what a run allows, as the stage does, and says in the bindings'
// statuses what members would.
type world struct {
	t         *testing.T
	run       *placementv1.ClusterStagedUpdateRun
	placement *placementv1.ClusterResourcePlacement
	strategy  *placementv1.ClusterStagedUpdateStrategy
	policy    *placementv1.ClusterSchedulingPolicySnapshot
	picked    []string
	members   []*memberclusterv1.MemberCluster
	snapshot  string
	overrides map[string]rollout.Overrides
	undefined map[string]string
	requests  []*placementv1.ClusterApprovalRequest
	bindings  map[string]*placementv1.ClusterResourceBinding
	busy      string
	now       time.Time
	// broken are the members in which nothing becomes available.
	broken map[string]bool
	last   Plan
}

// newWorld has members by name, with the label env=value for "name=value", each of which
// has snapshot 0, and a run that shall give them snapshot 1.
func newWorld(t *testing.T, stages []placementv1.StageConfig, members ...string) *world {
	w := &world{
		t: t, run: &placementv1.ClusterStagedUpdateRun{}, placement: &placementv1.ClusterResourcePlacement{}, strategy: &placementv1.ClusterStagedUpdateStrategy{},
		policy: &placementv1.ClusterSchedulingPolicySnapshot{}, snapshot: "shop-1-snapshot", bindings: map[string]*placementv1.ClusterResourceBinding{},
		now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), broken: map[string]bool{},
	}
	w.run.Name, w.run.UID, w.run.Generation = "release", "run", 1
	w.run.Spec = placementv1.UpdateRunSpec{PlacementName: "shop", StagedUpdateStrategyName: "careful", State: placementv1.UpdateRunRun}
	w.placement.Name, w.placement.UID = "shop", "placement"
	w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
	w.strategy.Name, w.strategy.Spec.Stages = "careful", stages
	w.policy.Labels = map[string]string{placementv1.LabelPolicyIndex: "0"}
	for _, m := range members {
		name, env, _ := strings.Cut(m, "=")
		w.picked = append(w.picked, name)
		w.members = append(w.members, &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": env}}})
		w.bind(name, "shop-0-snapshot")
	}
	return w
}

func (w *world) bind(cluster, snapshot string) {
	b := &placementv1.ClusterResourceBinding{}
	b.Name, b.UID, b.Generation = "shop-"+cluster, types.UID(cluster), 1
	b.Spec.State, b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, cluster, snapshot
	w.bindings[b.Name] = b
	w.observe(b)
}

// observe has the member say what came of what it has.
func (w *world) observe(b *placementv1.ClusterResourceBinding) {
	c := metav1.Condition{Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: placementv1.ReasonAllWorkAvailable, ObservedGeneration: b.Generation}
	if w.broken[b.Spec.TargetCluster] {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, placementv1.ReasonWorkNotAvailable, "no pod is ready"
	}
	meta.SetStatusCondition(&b.Status.Conditions, c)
}

func (w *world) input() Input {
	in := Input{
		Run: w.run, Placement: w.placement, Strategy: w.strategy, Requests: w.requests, Busy: w.busy, Policy: w.policy,
		Index: "1", Snapshot: w.snapshot, Overrides: w.overrides, Undefined: w.undefined, Members: w.members, Now: w.now,
	}
	for _, name := range w.picked {
		in.Picked = append(in.Picked, placementv1.ClusterDecision{ClusterName: name, Selected: true})
	}
	for _, b := range w.bindings {
		in.Bindings = append(in.Bindings, b)
	}
	return in
}

// step plans once, and carries that out; false: there was nothing to do.
func (w *world) step() bool {
	w.t.Helper()
	in := w.input()
	w.last = Next(in)
	did := !equality.Semantic.DeepEqual(w.run.Status, w.last.Status) || len(w.last.Create)+len(w.last.Accept)+len(w.last.Delete) > 0
	w.run.Status = w.last.Status
	w.requests = append(w.requests, w.last.Create...)
	for _, r := range w.last.Accept {
		r.Status = Accepted(r, w.now)
	}
	w.requests = slices.DeleteFunc(w.requests, func(r *placementv1.ClusterApprovalRequest) bool { return slices.Contains(w.last.Delete, r) })
	plan := rollout.Next(rollout.Input{Placement: w.placement, Picked: in.Picked, Snapshot: "shop-7-snapshot", Bindings: in.Bindings, Undefined: w.undefined, Run: w.last.Allows, Now: w.now})
	for _, s := range plan.Steps {
		did = true
		if s.Next == nil {
			delete(w.bindings, s.Old.Name)
			continue
		}
		b := s.Next.DeepCopy()
		b.Generation++
		w.bindings[b.Name] = b
	}
	return did
}

// settle goes on until nothing is to be done, and no member has anything to say.
func (w *world) settle() {
	w.t.Helper()
	for range 100 {
		for _, b := range w.bindings {
			w.observe(b)
		}
		if !w.step() {
			return
		}
	}
	w.t.Fatal("the run has no end")
}

// approve approves a request.
func (w *world) approve(name string) {
	w.t.Helper()
	for i, r := range w.requests {
		if r.Name == name {
			r = r.DeepCopy()
			meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: placementv1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "LooksGood"})
			w.requests[i] = r
			return
		}
	}
	w.t.Fatalf("there is no request %s", name)
}

// has are the members that have the run's snapshot.
func (w *world) has() string {
	var names []string
	for _, b := range w.bindings {
		if b.Spec.ResourceSnapshotName == "shop-1-snapshot" {
			names = append(names, b.Spec.TargetCluster)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// want checks which members have the snapshot, and what a condition says.
func (w *world) want(has, of, reason, message string) {
	w.t.Helper()
	if got := w.has(); got != has {
		w.t.Errorf("%q have the snapshot, want %q", got, has)
	}
	c := meta.FindStatusCondition(w.run.Status.Conditions, of)
	if c == nil {
		w.t.Fatalf("no condition %s", of)
	}
	if c.Reason != reason || !strings.Contains(c.Message, message) {
		w.t.Errorf("%s is %s: %s, want %s: %s", of, c.Reason, c.Message, reason, message)
	}
}

// stage of the members with that label, so many at a time.
func stage(name, env string, limit int, after ...placementv1.StageTask) placementv1.StageConfig {
	n := intstr.FromInt(limit)
	return placementv1.StageConfig{Name: name, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": env}}, MaxConcurrency: &n, AfterStageTasks: after}
}

func wait(d time.Duration) placementv1.StageTask {
	return placementv1.StageTask{Type: placementv1.StageTaskTimedWait, WaitTime: &metav1.Duration{Duration: d}}
}

var approval = placementv1.StageTask{Type: placementv1.StageTaskApproval}

// numbered are so many members of one environment.
func numbered(n int, env string) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s%02d=%s", env, i, env))
	}
	return names
}
