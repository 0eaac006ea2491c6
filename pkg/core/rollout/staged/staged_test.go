// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
)

func TestC61StagesFollowOneAnother(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("canary", "c", 1, wait(time.Hour)), stage("prod", "p", 2, approval)}, "a=p", "b=p", "c=c", "d=p")
	w.step()
	w.want("c", placementv1.ConditionInitialized, placementv1.ReasonUpdateRunInitialized, "gives resource snapshot 1 to 4 clusters in 2 stages")
	w.settle()
	w.want("c", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "after stage canary: waits until 2026-11-26T13:00:00Z")
	w.now = w.now.Add(time.Hour)
	w.step()
	w.want("a b c", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunProgressing, "stage prod updates a, b")
	w.settle()
	w.want("a b c d", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "after stage prod: waits for the approval of ClusterApprovalRequest release-after-prod")
	w.approve("release-after-prod")
	w.settle()
	w.want("a b c d", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
	if !meta.IsStatusConditionTrue(w.requests[0].Status.Conditions, placementv1.ConditionApprovalAccepted) {
		t.Error("the approval was not accepted")
	}
}

func TestC61WhatKeepsARunFromBeginning(t *testing.T) {
	all := func(name string) placementv1.StageConfig {
		return placementv1.StageConfig{Name: name, LabelSelector: &metav1.LabelSelector{}}
	}
	for sentence, c := range map[string]struct {
		given func(*world)
		says  string
	}{
		"there is no placement":               {func(w *world) { w.placement = nil }, "there is no ClusterResourcePlacement shop"},
		"the placement rolls out by itself":   {func(w *world) { w.placement.Spec.Strategy.Type = "" }, "set its spec.strategy.type to External"},
		"the placement is being deleted":      {func(w *world) { w.placement.DeletionTimestamp = &metav1.Time{Time: w.now} }, "is being deleted"},
		"there is no strategy":                {func(w *world) { w.strategy = nil }, "there is no ClusterStagedUpdateStrategy careful"},
		"nothing is selected yet":             {func(w *world) { w.snapshot = "" }, "has no resource snapshot yet"},
		"there is no such snapshot":           {func(w *world) { w.snapshot, w.run.Spec.ResourceSnapshotIndex = "", "9" }, `no complete resource snapshot with index "9"`},
		"nobody is picked, nor has it":        {func(w *world) { w.picked = nil; clear(w.bindings) }, "the placement picks no cluster"},
		"members are not picked yet":          {func(w *world) { w.policy = nil }, "has not picked its clusters yet"},
		"a member is in two stages":           {func(w *world) { w.strategy.Spec.Stages = []placementv1.StageConfig{all("one"), all("two")} }, "cluster a is in the stages one and two"},
		"a member is in no stage":             {func(w *world) { w.strategy.Spec.Stages = []placementv1.StageConfig{stage("one", "x", 1)} }, "no stage of careful has b, which the placement picks"},
		"a stage without a selector has none": {func(w *world) { w.strategy.Spec.Stages[0].LabelSelector = nil }, "no stage of careful has a, b"},
		"a selector that cannot be": {func(w *world) {
			w.strategy.Spec.Stages[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Is"}}
		}, "labelSelector of stage one"},
		"an order that is no number": {func(w *world) { w.strategy.Spec.Stages[0].SortingLabelKey = new("env") }, `label env, which is "x" and no integer on cluster a`},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, []placementv1.StageConfig{all("one")}, "a=x", "b=y")
			c.given(w)
			placement, policy, strategy := w.placement, w.policy, w.strategy
			if placement == nil {
				w.placement = &placementv1.ClusterResourcePlacement{}
				w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
			}
			in := w.input()
			in.Placement, in.Policy, in.Strategy = placement, policy, strategy
			p := Next(in)
			got := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionInitialized)
			if got == nil || got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, c.says) {
				t.Errorf("Initialized is %v, want False: %s", got, c.says)
			}
			if p.Allows != nil || len(p.Status.StagesStatus) > 0 {
				t.Errorf("it allows %v, and has stages %v", p.Allows, p.Status.StagesStatus)
			}
		})
	}
}

func TestC61ARunThatIsMendedBegins(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1)}, "a=x", "b=y")
	w.settle()
	w.want("", placementv1.ConditionInitialized, placementv1.ReasonUpdateRunInitializeFailed, "no stage of careful has b")
	w.strategy.Spec.Stages = append(w.strategy.Spec.Stages, stage("two", "y", 1))
	w.settle()
	w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestC61OrderOfAStage(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{{Name: "all", LabelSelector: &metav1.LabelSelector{}, SortingLabelKey: new("order")}}, "a", "b", "c", "d", "e")
	for name, order := range map[string]string{"a": "10", "b": "9", "c": "-1", "e": "9"} {
		w.members[slices.IndexFunc(w.members, func(m *memberclusterv1.MemberCluster) bool { return m.Name == name })].Labels["order"] = order
	}
	var order []string
	for range 5 {
		w.step()
		for _, b := range w.bindings {
			if b.Spec.ResourceSnapshotName == "shop-1-snapshot" && !slices.Contains(order, b.Spec.TargetCluster) {
				order = append(order, b.Spec.TargetCluster)
			}
			w.observe(b)
		}
	}
	if got := strings.Join(order, " "); got != "c b e a d" {
		t.Errorf("the order is %s, want c b e a d", got)
	}
}

func TestC61WhatEndsARun(t *testing.T) {
	for sentence, c := range map[string]struct {
		given func(*world)
		says  string
	}{
		"another member is picked":      {func(w *world) { w.picked = append(w.picked, "z") }, "the placement now picks z, too"},
		"a member is no longer picked":  {func(w *world) { w.picked = w.picked[:2] }, "no longer picks c"},
		"the policy changes":            {func(w *world) { w.policy.Labels[placementv1.LabelPolicyIndex] = "1" }, "the run was made for index 0, and 1 is in force"},
		"the snapshot is deleted":       {func(w *world) { w.snapshot = "" }, "no resource snapshot with index 1 any more"},
		"an override of a later member": {func(w *world) { w.overrides = map[string]rollout.Overrides{"c": {Cluster: []string{"o-0"}}} }, "the overrides for cluster c changed"},
		"the placement is deleted":      {func(w *world) { w.placement.DeletionTimestamp = &metav1.Time{Time: w.now} }, "is being deleted"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1, approval), stage("two", "y", 1)}, "a=x", "b=y", "c=y")
			w.settle()
			w.want("a", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "release-after-one")
			c.given(w)
			w.step()
			w.want("a", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunFailed, c.says)
			w.approve("release-after-one")
			w.settle()
			w.want("a", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunFailed, c.says)
		})
	}
	seen := func(env string) map[string]rollout.Overrides {
		return map[string]rollout.Overrides{"b": {Cluster: []string{"o-0"}, For: &placementv1.OverriddenFor{Labels: map[string]string{"env": env}}}}
	}
	begin := func(t *testing.T) *world {
		w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1, approval), stage("two", "y", 1)}, "a=x", "b=y")
		w.overrides = seen("test")
		w.settle()
		return w
	}
	t.Run("a label of a later member that its overrides look at", func(t *testing.T) {
		w := begin(t)
		w.overrides = seen("prod")
		w.step()
		w.want("a", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunFailed, "the labels of cluster b changed, which its overrides look at")
	})
	t.Run("but not where the run does not say what they were", func(t *testing.T) {
		w := begin(t)
		w.run.Status.StagesStatus[1].Clusters[0].OverriddenFor = nil
		w.overrides = seen("prod")
		w.approve("release-after-one")
		w.settle()
		w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
	})
	t.Run("but not an override of a member that has been updated", func(t *testing.T) {
		w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1, approval), stage("two", "y", 1)}, "a=x", "b=y")
		w.settle()
		w.overrides = map[string]rollout.Overrides{"a": {Cluster: []string{"o-0"}}}
		w.approve("release-after-one")
		w.settle()
		w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
	})
}

func TestC61AStageStopsAtAMemberThatFails(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1)}, "a=x", "b=x")
	w.broken["a"] = true
	w.settle()
	w.want("a", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunStuck, "a NotAllWorkAreAvailable: no pod is ready")
	w.broken["a"] = false
	for _, b := range w.bindings {
		w.observe(b)
	}
	w.settle()
	w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestC61StateOfARun(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1)}, "a=x", "b=x")
	w.run.Spec.State = placementv1.UpdateRunInitialize
	w.settle()
	w.want("", placementv1.ConditionInitialized, placementv1.ReasonUpdateRunInitialized, "2 clusters in 1 stages")
	w.run.Spec.State = placementv1.UpdateRunRun
	w.step()
	w.run.Spec.State = placementv1.UpdateRunStop
	w.step()
	w.want("a", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunStopping, "no further cluster is updated")
	w.settle()
	w.want("a", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunStopped, "of which 1 clusters are not updated")
	w.run.Spec.State = placementv1.UpdateRunRun
	w.settle()
	w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestC61OneRunOfAPlacementAtATime(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1)}, "a=x")
	w.busy = "other"
	w.settle()
	w.want("", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "waits for run other")
	w.busy = ""
	w.settle()
	w.want("a", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestC61AnApprovalIsOfTheRunItself(t *testing.T) {
	before := stage("one", "x", 1)
	before.BeforeStageTasks = []placementv1.StageTask{approval}
	w := newWorld(t, []placementv1.StageConfig{before}, "a=x")
	w.run.UID = "former"
	w.settle()
	w.approve("release-before-one")
	w.run.UID, w.run.Status = "run", placementv1.UpdateRunStatus{}
	w.settle()
	w.want("", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "release-before-one")
	w.approve("release-before-one")
	w.settle()
	w.want("a", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestC61WhoIsNoLongerPickedLosesThePlacementAtTheEnd(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1, approval)}, "a=x", "b=x", "z=x")
	w.picked = w.picked[:2]
	w.settle()
	w.want("a b", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunWaiting, "release-after-one")
	if w.bindings["shop-z"] == nil {
		t.Fatal("z lost the placement before the stages were done")
	}
	w.approve("release-after-one")
	w.settle()
	w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
	if w.bindings["shop-z"] != nil {
		t.Error("z still has the placement")
	}
}

// In histories of random answers, no more members of a stage are under way than may be,
// no stage begins before the one before is done, and the run ends.
func TestC61RandomRuns(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		limits := map[string]int{"p": 1 + random.IntN(3), "q": 1 + random.IntN(3)}
		w := newWorld(t, []placementv1.StageConfig{stage("one", "p", limits["p"]), stage("two", "q", limits["q"])}, append(numbered(1+random.IntN(5), "p"), numbered(random.IntN(5), "q")...)...)
		for range 60 {
			for _, b := range w.bindings {
				w.broken[b.Spec.TargetCluster] = random.IntN(3) == 0
				if random.IntN(2) == 0 {
					w.observe(b)
				}
			}
			if random.IntN(4) > 0 {
				w.step()
			}
			w.check(seed, limits)
		}
		clear(w.broken)
		for _, b := range w.bindings {
			w.observe(b)
		}
		w.settle()
		if !Ended(w.run) || len(strings.Fields(w.has())) != len(w.picked) {
			t.Fatalf("seed %d: %q have the snapshot: %v", seed, w.has(), w.run.Status.Conditions)
		}
	}
}

func (w *world) check(seed uint64, limits map[string]int) {
	w.t.Helper()
	first := true
	for _, s := range w.run.Status.StagesStatus {
		under := 0
		for _, c := range s.Clusters {
			started, done := meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionStarted), meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionSucceeded)
			if started && !done {
				under++
			}
			if started && s.StageName == "two" && !first {
				w.t.Fatalf("seed %d: stage two began before stage one was done", seed)
			}
			if has := w.bindings["shop-"+c.ClusterName].Spec.ResourceSnapshotName == "shop-1-snapshot"; has && !started {
				w.t.Fatalf("seed %d: %s has the snapshot before its turn", seed, c.ClusterName)
			}
		}
		limit := limits["p"]
		if s.StageName == "two" {
			limit = limits["q"]
		}
		if under > limit {
			w.t.Fatalf("seed %d: %d members of stage %s are under way, %d may be", seed, under, s.StageName, limit)
		}
		first = meta.IsStatusConditionTrue(s.Conditions, placementv1.ConditionSucceeded)
	}
}

func TestC61Concurrency(t *testing.T) {
	for of, want := range map[string]int{"1": 1, "3": 3, "50%": 5, "1%": 1, "100%": 11, "x": 1} {
		limit := intstr.Parse(of)
		if got := concurrency(placementv1.StageConfig{MaxConcurrency: &limit}, 11); got != want {
			t.Errorf("%s of 11 is %d, want %d", of, got, want)
		}
	}
}

// A run gives no member what it would be without overrides that nobody deleted: it says whose
// they are, and begins when they are applied again.
func TestZ11ARunWaitsForOverridesThatNobodyDeleted(t *testing.T) {
	const gone = "ClusterResourceOverride gold"
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1), stage("two", "y", 1)}, "a=x", "b=y")
	w.undefined = map[string]string{"b": gone, "z": gone}
	w.settle()
	w.want("", placementv1.ConditionInitialized, placementv1.ReasonUpdateRunInitializeFailed, "cluster b: overrides ("+gone+") went with the definition of their kind")
	w.undefined = map[string]string{"z": gone} // which it does not update
	w.settle()
	w.want("a b", placementv1.ConditionSucceeded, placementv1.ReasonUpdateRunSucceeded, "")
}

func TestZ11ARunSaysOfAMemberThatItsOverridesAreMissing(t *testing.T) {
	w := newWorld(t, []placementv1.StageConfig{stage("one", "x", 1, approval), stage("two", "y", 1)}, "a=x", "b=y")
	w.settle()
	w.approve("release-after-one")
	w.undefined = map[string]string{"b": "ClusterResourceOverride gold"}
	w.step()
	w.step()
	w.want("a", placementv1.ConditionProgressing, placementv1.ReasonUpdateRunStuck, "b waits: overrides (ClusterResourceOverride gold) went with the definition of their kind")
}
