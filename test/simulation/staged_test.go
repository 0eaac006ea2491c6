// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Where runs of staged updates roll placements out: they are made, stopped, deleted and
// approved, while what is placed, where, and which member is in which zone changes.

const (
	putRun     verb = "put run"
	dropRun    verb = "delete run"
	approveRun verb = "approve request of run"
)

// stages of the strategy of each run: zone a, after an approval the others, and after some
// time the end.
var stages = []placementv1.StageConfig{
	{Name: "first", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{zoneKey: "a"}}, AfterStageTasks: []placementv1.StageTask{{Type: placementv1.StageTaskApproval}}},
	{
		Name:            "rest",
		LabelSelector:   &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: zoneKey, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}}}},
		AfterStageTasks: []placementv1.StageTask{{Type: placementv1.StageTaskTimedWait, WaitTime: &metav1.Duration{Duration: 3 * time.Second}}},
	},
}

// turn is a member's in the runs of a placement.
type turn struct{ placement, cluster string }

// runs does what is about a run.
func (w *world) runs(o op) bool {
	name := o.policy.Name
	r := w.hub.LiveUpdateRun(name)
	switch {
	case o.verb == putRun:
		w.hub.PutUpdateStrategy("careful", placementv1.UpdateStrategySpec{Stages: stages})
		spec := placementv1.UpdateRunSpec{PlacementName: "crp-1", StagedUpdateStrategyName: "careful", State: placementv1.UpdateRunRun}
		if r != nil {
			spec.ResourceSnapshotIndex = r.Spec.ResourceSnapshotIndex // which nobody may change
			if o.n%3 == 0 {
				spec.State = placementv1.UpdateRunStop
			}
		} else if o.n%4 == 0 {
			spec.ResourceSnapshotIndex = strconv.Itoa(o.n / 4)
		}
		return w.hub.PutUpdateRun(name, spec)
	case r == nil:
		return false
	case o.verb == dropRun:
		return w.hub.DropUpdateRun(name)
	}
	return w.hub.ApproveRequest(name + "-after-first")
}

// noteTurns notes to which members a run gives something, and from which it takes it, and
// checks that it does so to one of a stage at a time.
func (w *world) noteTurns(r *placementv1.ClusterStagedUpdateRun) {
	if w.placing.turns == nil {
		w.placing.turns = map[turn]bool{}
	}
	all := r.Status.StagesStatus
	if r.Status.DeletionStageStatus != nil {
		all = append(slices.Clone(all), *r.Status.DeletionStageStatus)
	}
	for _, s := range all {
		var under []string
		for _, c := range s.Clusters {
			if !meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionStarted) {
				continue
			}
			w.placing.turns[turn{r.Spec.PlacementName, c.ClusterName}] = true
			if !meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionSucceeded) {
				under = append(under, c.ClusterName)
			}
		}
		if len(under) > 1 && s.StageName != placementv1.DeletionStage {
			w.fail("run %s updates %v at the same time", r.Name, under)
		}
	}
}

// checkRuns checks that each run has come to its end, or says what it waits for, and that
// of those that were started no two have not ended.
func (w *world) checkRuns() {
	begun := ""
	for _, r := range w.hub.LiveUpdateRuns() {
		initialized, progressing := meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionInitialized), meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionProgressing)
		ended := meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionSucceeded) != nil
		switch {
		case initialized == nil:
			w.fail("nobody looked at run %s", r.Name)
		case ended:
		case initialized.Status == metav1.ConditionFalse:
			if initialized.Message == "" {
				w.fail("run %s cannot begin, and does not say why", r.Name)
			}
		case progressing == nil || progressing.Message == "" || progressing.ObservedGeneration != r.Generation:
			w.fail("run %s does not say what it waits for: %+v", r.Name, r.Status.Conditions)
		case progressing.Status == metav1.ConditionTrue:
			w.fail("run %s is still under way: %s", r.Name, progressing.Message)
		}
		if !ended && len(r.Status.StagesStatus) > 0 && len(r.Status.StagesStatus[0].Conditions) > 0 {
			if begun != "" {
				w.fail("the runs %s and %s were started, and have not ended", begun, r.Name)
			}
			begun = r.Name
		}
	}
}

// stagedAbout is the history of a seed with a placement that runs roll out.
func stagedAbout(seed int) (climate, []op) {
	c, h := carriedAbout(seed + 1<<22)
	d := newDrawer(uint64(seed) ^ 0x0e540000) //nolint:gosec // a seed
	runs := []propagation.PolicyKey{clusterWide("r-1"), clusterWide("r-2"), clusterWide("r-3")}
	overrides := d.chance(30)
	out := []op{{verb: relabel, cluster: "m1", n: 1}, {verb: relabel, cluster: "m2", n: pick(d, []int{0, 1, 2})}, {verb: relabel, cluster: "m3", n: pick(d, []int{1, 2})}}
	for _, o := range h {
		if o.verb == putPlacement && o.policy.Name == "crp-1" {
			o.asked.Strategy.Type = placementv1.ExternalRolloutStrategyType
		}
		switch n := d.IntN(100); {
		case n < 25:
			out = append(out, op{verb: putRun, policy: pick(d, runs), n: d.IntN(12)})
		case n < 32:
			out = append(out, op{verb: dropRun, policy: pick(d, runs)})
		case n < 60:
			out = append(out, op{verb: approveRun, policy: pick(d, runs)})
		case n < 66:
			out = append(out, op{verb: relabel, cluster: pick(d, clusters), n: d.IntN(len(zones))})
		case n < 76 && overrides:
			out = append(out, d.overrules())
		}
		out = append(out, o)
	}
	return c, out
}

// TestC61HistoriesWithRuns runs a sixth as many as TestSimulation, and at most fifty.
func TestC61HistoriesWithRuns(t *testing.T) {
	first, last := fewSeeds()
	did := each(t, first, last, stagedAbout)
	if t.Log(fmt.Sprint(did)); t.Failed() || last-first < 20 {
		return
	}
	for _, v := range []verb{putRun, dropRun, approveRun} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
