// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/rollout"
)

// Input is all that the next step of a run depends on.
type Input struct {
	Run *placementv1.ClusterStagedUpdateRun
	// Placement that the run names; nil: there is none.
	Placement *placementv1.ClusterResourcePlacement
	// Strategy that it names; nil: there is none. It is read until the run is
	// initialized.
	Strategy *placementv1.ClusterStagedUpdateStrategy
	// Requests are all there are; the run's are found by their names.
	Requests []*placementv1.ClusterApprovalRequest
	// Busy is another run of the placement, which was started and has not ended;
	// empty: there is none.
	Busy string
	// Policy is the snapshot of the policy in force, and Picked are the decisions for
	// the members that it picked; nil: it has not picked any yet.
	Policy *placementv1.ClusterSchedulingPolicySnapshot
	Picked []placementv1.ClusterDecision
	// Index of the snapshot, and the name of its first part; empty: there is none.
	Index, Snapshot string
	// Overrides are those in force for each member.
	Overrides map[string]rollout.Overrides
	// Undefined are those of rollout.Input.
	Undefined map[string]string
	Members   []*memberclusterv1.MemberCluster
	// Bindings are all of the placement.
	Bindings []*placementv1.ClusterResourceBinding
	Now      time.Time
}

// Plan is the run's next status, what has to be done with its requests, and what it
// allows.
type Plan struct {
	Status placementv1.UpdateRunStatus
	// Create are requests to be made, Accept those whose approval was seen, and Delete
	// those that a former run of the name left.
	Create, Accept, Delete []*placementv1.ClusterApprovalRequest
	// Allows is what members get and lose now; nil: nothing.
	Allows *rollout.Run
}

// Of returns the placement's runs that have not ended, in the order in which they are
// carried out: those that were started first, and then those that were made first.
func Of(placement string, all []*placementv1.ClusterStagedUpdateRun) []*placementv1.ClusterStagedUpdateRun {
	runs := slices.DeleteFunc(slices.Clone(all), func(r *placementv1.ClusterStagedUpdateRun) bool {
		return r.Spec.PlacementName != placement || r.DeletionTimestamp != nil || Ended(r)
	})
	slices.SortFunc(runs, func(a, b *placementv1.ClusterStagedUpdateRun) int {
		return cmp.Or(
			compareBool(Begun(b), Begun(a)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
	return runs
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Ended reports whether the run succeeded or failed.
func Ended(r *placementv1.ClusterStagedUpdateRun) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionSucceeded)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// Last returns the placement's run that ended last; nil: none has.
func Last(placement string, all []*placementv1.ClusterStagedUpdateRun) (last *placementv1.ClusterStagedUpdateRun) {
	var at time.Time
	for _, r := range all {
		if r.Spec.PlacementName != placement || r.DeletionTimestamp != nil || !Ended(r) {
			continue
		}
		ended := meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionSucceeded).LastTransitionTime.Time
		if last == nil || ended.After(at) {
			last, at = r, ended
		}
	}
	return last
}

// Initialized reports whether it is settled what the run does.
func Initialized(r *placementv1.ClusterStagedUpdateRun) bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, placementv1.ConditionInitialized)
}

// Begun reports whether a stage of the run has begun.
func Begun(r *placementv1.ClusterStagedUpdateRun) bool {
	return len(r.Status.StagesStatus) > 0 &&
		meta.FindStatusCondition(r.Status.StagesStatus[0].Conditions, placementv1.ConditionProgressing) != nil
}

// Seen reports whether the run's status is about its present generation.
func Seen(r *placementv1.ClusterStagedUpdateRun) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration == r.Generation })
}

// Index is that of the snapshot that the run gives its members, where latest is the one
// in force.
func Index(r *placementv1.ClusterStagedUpdateRun, latest string) string {
	switch {
	case Initialized(r):
		return r.Status.ResourceSnapshotIndexUsed
	case r.Spec.ResourceSnapshotIndex != "":
		return r.Spec.ResourceSnapshotIndex
	}
	return latest
}

// Next returns how the run goes on.
func Next(in Input) Plan {
	p := &planner{Input: in, plan: Plan{Status: *in.Run.Status.DeepCopy()}, allows: &rollout.Run{
		Snapshot: in.Snapshot, Overrides: map[string]rollout.Overrides{}, Updating: map[string]bool{}, Deleting: map[string]bool{},
	}}
	if Ended(in.Run) {
		return p.plan
	}
	if !Initialized(in.Run) {
		if mistake := p.initialize(); mistake != "" {
			p.plan.Status.StagesStatus, p.plan.Status.DeletionStageStatus = nil, nil
			p.say(placementv1.ConditionInitialized, metav1.ConditionFalse, placementv1.ReasonUpdateRunInitializeFailed, mistake)
			return p.plan
		}
		p.say(placementv1.ConditionInitialized, metav1.ConditionTrue, placementv1.ReasonUpdateRunInitialized, p.summary())
	} else if broken := p.broken(); broken != "" {
		p.fail(broken)
		return p.plan
	}
	p.advance()
	return p.plan
}

// planner makes a plan.
type planner struct {
	Input
	plan   Plan
	allows *rollout.Run
}

// say sets a condition of the run.
func (p *planner) say(of string, status metav1.ConditionStatus, reason, message string) {
	p.set(&p.plan.Status.Conditions, of, status, reason, message)
	p.plan.Status.Conditions = conditions.Bound(p.plan.Status.Conditions)
}

// set sets a condition of the run, or of a part of it.
func (p *planner) set(list *[]metav1.Condition, of string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(list, metav1.Condition{
		Type: of, Status: status, Reason: reason, Message: message, ObservedGeneration: p.Run.Generation, LastTransitionTime: metav1.NewTime(p.Now.Truncate(time.Second)),
	})
}

// fail ends the run. Members keep what they have.
func (p *planner) fail(why string) {
	p.plan.Allows = nil
	p.say(placementv1.ConditionProgressing, metav1.ConditionFalse, placementv1.ReasonUpdateRunFailed, why)
	p.say(placementv1.ConditionSucceeded, metav1.ConditionFalse, placementv1.ReasonUpdateRunFailed, why+"; make another run")
}

// broken says what is no longer as it was when the run was initialized; empty: nothing.
func (p *planner) broken() string {
	status := p.Run.Status
	switch {
	case p.Placement == nil:
		return fmt.Sprintf("there is no ClusterResourcePlacement %s any more", p.Run.Spec.PlacementName)
	case p.Placement.DeletionTimestamp != nil:
		return fmt.Sprintf("ClusterResourcePlacement %s is being deleted", p.Placement.Name)
	case !p.Placement.Spec.Strategy.External():
		return notExternal(p.Placement)
	case p.Policy == nil:
		return "" // nobody knows yet; those that are picked may be the same
	case p.Policy.Labels[placementv1.LabelPolicyIndex] != status.PolicySnapshotIndexUsed:
		return fmt.Sprintf("the placement's policy changed: the run was made for index %s, and %s is in force", status.PolicySnapshotIndexUsed, p.Policy.Labels[placementv1.LabelPolicyIndex])
	case p.Snapshot == "":
		return fmt.Sprintf("the placement has no resource snapshot with index %s any more", status.ResourceSnapshotIndexUsed)
	}
	was, is := map[string]bool{}, map[string]bool{}
	for _, stage := range status.StagesStatus {
		for _, c := range stage.Clusters {
			was[c.ClusterName] = true
			started := meta.FindStatusCondition(c.Conditions, placementv1.ConditionStarted) != nil
			if now := p.Overrides[c.ClusterName]; !started && !overridesOf(c).Same(now) {
				return otherwise(c, now)
			}
		}
	}
	for _, d := range p.Picked {
		is[d.ClusterName] = true
	}
	return changed(was, is)
}

// otherwise says what changed of what a member was to get.
func otherwise(c placementv1.ClusterUpdatingStatus, now rollout.Overrides) string {
	if overridesOf(c).SameNames(now) {
		return fmt.Sprintf("the labels of cluster %s changed, which its overrides look at", c.ClusterName)
	}
	return fmt.Sprintf("the overrides for cluster %s changed", c.ClusterName)
}

// changed says which members were picked, and which are; empty: the same.
func changed(was, is map[string]bool) string {
	var parts []string
	if more := missing(is, was); len(more) > 0 {
		parts = append(parts, "now picks "+list(more)+", too")
	}
	if fewer := missing(was, is); len(fewer) > 0 {
		parts = append(parts, "no longer picks "+list(fewer))
	}
	if len(parts) == 0 {
		return ""
	}
	return "the placement " + strings.Join(parts, " and ")
}

// missing returns what is in a and not in b, in order.
func missing(a, b map[string]bool) (names []string) {
	for name := range a {
		if !b[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// maxNamed is how many members a message names; it counts the others.
const maxNamed = 5

func list(names []string) string {
	if rest := len(names) - maxNamed; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// summary says what the run will do.
func (p *planner) summary() string {
	status := p.plan.Status
	s := fmt.Sprintf("gives resource snapshot %s to %d clusters in %d stages", status.ResourceSnapshotIndexUsed, status.PolicyObservedClusterCount, len(status.StagesStatus))
	if leaving := len(status.DeletionStageStatus.Clusters); leaving > 0 {
		s += fmt.Sprintf(", and removes the placement from %d", leaving)
	}
	return s
}

func overridesOf(c placementv1.ClusterUpdatingStatus) rollout.Overrides {
	return rollout.Overrides{Cluster: c.ClusterResourceOverrideSnapshots, InNames: c.ResourceOverrideSnapshots, For: c.OverriddenFor}
}

func notExternal(p *placementv1.ClusterResourcePlacement) string {
	return fmt.Sprintf("ClusterResourcePlacement %s rolls out by itself: set its spec.strategy.type to External", p.Name)
}
