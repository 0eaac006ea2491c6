// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
)

// stuckAfter is how long a member may take to become available, until the run is said
// to be stuck. Nothing else depends on it.
const stuckAfter = 5 * time.Minute

// pause is what a run waits for.
type pause struct {
	reason, message string
}

// advance starts and ends what is due, and says what the run waits for.
func (p *planner) advance() {
	switch {
	case p.Run.Spec.State == placementv1.UpdateRunInitialize || p.Run.Spec.State == "" || p.Policy == nil:
		return
	case p.Busy != "":
		p.wait(pause{placementv1.ReasonUpdateRunWaiting, fmt.Sprintf("waits for run %s of the same placement, which was started and has not ended; delete that one to give it up", p.Busy)})
		return
	}
	p.plan.Allows = p.allows
	for i := range p.plan.Status.StagesStatus {
		stage := &p.plan.Status.StagesStatus[i]
		for _, c := range stage.Clusters {
			p.allows.Overrides[c.ClusterName] = overridesOf(c)
		}
	}
	for i := range p.plan.Status.StagesStatus {
		if waits := p.stage(&p.plan.Status.StagesStatus[i], p.plan.Status.UpdateStrategySnapshot.Stages[i]); waits != nil {
			p.wait(*waits)
			return
		}
	}
	if waits := p.remove(p.plan.Status.DeletionStageStatus); waits != nil {
		p.wait(*waits)
		return
	}
	p.plan.Allows = nil
	p.say(placementv1.ConditionProgressing, metav1.ConditionFalse, placementv1.ReasonUpdateRunSucceeded, "all stages are done")
	p.say(placementv1.ConditionSucceeded, metav1.ConditionTrue, placementv1.ReasonUpdateRunSucceeded, "all stages are done")
}

// wait says what the run waits for.
func (p *planner) wait(w pause) {
	status := metav1.ConditionFalse
	if w.reason == placementv1.ReasonUpdateRunProgressing {
		status = metav1.ConditionTrue
	}
	p.say(placementv1.ConditionProgressing, status, w.reason, w.message)
	p.allows.Message = "run " + p.Run.Name + ": " + w.message
}

func (p *planner) stopped() bool { return p.Run.Spec.State == placementv1.UpdateRunStop }

// stage advances one stage; nil: it is done.
func (p *planner) stage(s *placementv1.StageUpdatingStatus, config placementv1.StageConfig) *pause {
	if meta.IsStatusConditionTrue(s.Conditions, placementv1.ConditionSucceeded) {
		return nil
	}
	if s.StartTime == nil && p.stopped() {
		return &pause{placementv1.ReasonUpdateRunStopped, fmt.Sprintf("stopped before stage %s", s.StageName)}
	}
	if open := p.tasks(s, before, config.BeforeStageTasks, &s.BeforeStageTaskStatus, time.Time{}); len(open) > 0 {
		return p.waitIn(s, "before stage "+s.StageName, open)
	}
	p.begin(s)
	if waits := p.clusters(s, concurrency(config, len(s.Clusters))); waits != nil {
		return waits
	}
	if open := p.tasks(s, after, config.AfterStageTasks, &s.AfterStageTaskStatus, lastEnd(s)); len(open) > 0 {
		return p.waitIn(s, "after stage "+s.StageName, open)
	}
	p.end(s)
	return nil
}

func (p *planner) begin(s *placementv1.StageUpdatingStatus) {
	if s.StartTime == nil {
		now := metav1.NewTime(p.Now.Truncate(time.Second))
		s.StartTime = &now
	}
}

func (p *planner) end(s *placementv1.StageUpdatingStatus) {
	now := metav1.NewTime(p.Now.Truncate(time.Second))
	s.EndTime = &now
	p.set(&s.Conditions, placementv1.ConditionProgressing, metav1.ConditionFalse, placementv1.ReasonStageUpdatingSucceeded, "the stage is done")
	p.set(&s.Conditions, placementv1.ConditionSucceeded, metav1.ConditionTrue, placementv1.ReasonStageUpdatingSucceeded, "the stage is done")
}

// waitIn says that a stage waits for tasks.
func (p *planner) waitIn(s *placementv1.StageUpdatingStatus, when string, open []string) *pause {
	message := when + ": " + strings.Join(open, "; ")
	p.set(&s.Conditions, placementv1.ConditionProgressing, metav1.ConditionFalse, placementv1.ReasonStageUpdatingWaiting, message)
	return &pause{placementv1.ReasonUpdateRunWaiting, message}
}

// concurrency is how many of so many members may be updated at a time.
func concurrency(config placementv1.StageConfig, of int) int {
	limit := intstr.FromInt32(1)
	if config.MaxConcurrency != nil {
		limit = *config.MaxConcurrency
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, of, false)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// clusters looks at the members that were started, and starts as many as may be; nil: all
// have what they shall have.
func (p *planner) clusters(s *placementv1.StageUpdatingStatus, limit int) *pause {
	w := working{stage: s.StageName}
	for i := range s.Clusters {
		if c := &s.Clusters[i]; p.started(c) {
			w.look(p, c)
		}
	}
	left := 0
	for i := range s.Clusters {
		c := &s.Clusters[i]
		switch {
		case p.started(c):
		case len(w.under) >= limit || p.stopped():
			left++
		default:
			p.set(&c.Conditions, placementv1.ConditionStarted, metav1.ConditionTrue, placementv1.ReasonClusterUpdatingStarted, "the update has started")
			w.look(p, c)
		}
	}
	for _, name := range w.under {
		p.allows.Updating[name] = true
	}
	if len(w.under) == 0 && left == 0 {
		return nil
	}
	p.set(&s.Conditions, placementv1.ConditionProgressing, metav1.ConditionTrue, placementv1.ReasonStageUpdatingStarted, "clusters are updated")
	return w.pause(p.stopped(), left)
}

// working is what is found out about the members of a stage that are updated now.
type working struct {
	stage string
	under []string
	whys  []string
	stuck bool
}

// look looks at a member that was started. Once it was seen to have what it shall have, it
// counts as done.
func (w *working) look(p *planner, c *placementv1.ClusterUpdatingStatus) {
	if meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionSucceeded) {
		return
	}
	failed, why := p.missing(c)
	if why == "" {
		p.set(&c.Conditions, placementv1.ConditionSucceeded, metav1.ConditionTrue, placementv1.ReasonClusterUpdatingSucceeded, "the cluster has the resources, and they are available")
		return
	}
	w.under = append(w.under, c.ClusterName)
	w.whys = append(w.whys, c.ClusterName+" "+why)
	since := meta.FindStatusCondition(c.Conditions, placementv1.ConditionStarted).LastTransitionTime
	w.stuck = w.stuck || failed || p.Now.Sub(since.Time) > stuckAfter
}

// pause says what is done, or waited for, where left members were not started yet.
func (w *working) pause(stopped bool, left int) *pause {
	whys := strings.Join(w.whys[:min(len(w.whys), maxNamed)], "; ")
	switch {
	case stopped && len(w.under) == 0:
		return &pause{placementv1.ReasonUpdateRunStopped, fmt.Sprintf("stopped in stage %s, of which %d clusters are not updated", w.stage, left)}
	case stopped:
		return &pause{placementv1.ReasonUpdateRunStopping, fmt.Sprintf("stage %s: no further cluster is updated; %s", w.stage, whys)}
	case w.stuck:
		return &pause{placementv1.ReasonUpdateRunStuck, fmt.Sprintf("stage %s waits for clusters to be available: %s", w.stage, whys)}
	}
	return &pause{placementv1.ReasonUpdateRunProgressing, fmt.Sprintf("stage %s updates %s", w.stage, list(w.under))}
}

func (p *planner) started(c *placementv1.ClusterUpdatingStatus) bool {
	return meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionStarted)
}

// missing says what a member lacks of what it shall have, and whether that failed; empty:
// nothing.
func (p *planner) missing(c *placementv1.ClusterUpdatingStatus) (failed bool, why string) {
	i := slices.IndexFunc(p.Bindings, func(b *placementv1.ClusterResourceBinding) bool {
		return b.Spec.TargetCluster == c.ClusterName && b.DeletionTimestamp == nil && rollout.Has(b, p.Snapshot, overridesOf(*c))
	})
	if why := rollout.Undefined(p.Undefined[c.ClusterName]); i < 0 && why != "" {
		return true, "waits: " + why
	}
	if i < 0 {
		return false, "gets the resources"
	}
	available, failed, why := rollout.Available(p.Placement, p.Bindings[i], p.Now)
	if available {
		return false, ""
	}
	return failed, why
}

// lastEnd is when the last member of a stage was done; for a stage without members, when
// it began.
func lastEnd(s *placementv1.StageUpdatingStatus) time.Time {
	last := s.StartTime.Time
	for _, c := range s.Clusters {
		if done := meta.FindStatusCondition(c.Conditions, placementv1.ConditionSucceeded); done != nil && done.LastTransitionTime.After(last) {
			last = done.LastTransitionTime.Time
		}
	}
	return last
}

// Updated returns how long it took from the beginning of a stage until its last member was
// done, for each stage of which that is true in the later of two statuses of a run alone.
func Updated(earlier, later placementv1.UpdateRunStatus) (took []time.Duration) {
	for i := range later.StagesStatus {
		s := &later.StagesStatus[i]
		if updated(s) && (i >= len(earlier.StagesStatus) || !updated(&earlier.StagesStatus[i])) {
			took = append(took, lastEnd(s).Sub(s.StartTime.Time))
		}
	}
	return took
}

// updated tells whether the stage began and all its members are done.
func updated(s *placementv1.StageUpdatingStatus) bool {
	return s.StartTime != nil && !slices.ContainsFunc(s.Clusters, func(c placementv1.ClusterUpdatingStatus) bool {
		return !meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionSucceeded)
	})
}

// remove takes the placement from those that are no longer picked; nil: none has it.
func (p *planner) remove(s *placementv1.StageUpdatingStatus) *pause {
	if meta.IsStatusConditionTrue(s.Conditions, placementv1.ConditionSucceeded) {
		return nil
	}
	if s.StartTime == nil && p.stopped() && len(s.Clusters) > 0 {
		return &pause{placementv1.ReasonUpdateRunStopped, "stopped before the placement is removed from those that are no longer picked"}
	}
	p.begin(s)
	var open []string
	for i := range s.Clusters {
		c := &s.Clusters[i]
		if meta.IsStatusConditionTrue(c.Conditions, placementv1.ConditionSucceeded) {
			continue
		}
		p.set(&c.Conditions, placementv1.ConditionStarted, metav1.ConditionTrue, placementv1.ReasonClusterUpdatingStarted, "the removal has started")
		if slices.ContainsFunc(p.Bindings, func(b *placementv1.ClusterResourceBinding) bool { return b.Spec.TargetCluster == c.ClusterName }) {
			open = append(open, c.ClusterName)
			p.allows.Deleting[c.ClusterName] = true
			continue
		}
		p.set(&c.Conditions, placementv1.ConditionSucceeded, metav1.ConditionTrue, placementv1.ReasonClusterUpdatingSucceeded, "the placement is removed")
	}
	if len(open) > 0 {
		p.set(&s.Conditions, placementv1.ConditionProgressing, metav1.ConditionTrue, placementv1.ReasonStageUpdatingStarted, "the placement is removed")
		return &pause{placementv1.ReasonUpdateRunProgressing, "removes the placement from " + list(open)}
	}
	p.end(s)
	return nil
}
