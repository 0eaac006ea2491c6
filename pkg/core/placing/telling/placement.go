// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/placement"
)

// Input is everything that a placement's status depends on.
type Input struct {
	Placement *placementv1.ClusterResourcePlacement
	Policies  []*placementv1.ClusterSchedulingPolicySnapshot
	// Snapshots without their content.
	Snapshots []*placementv1.ClusterResourceSnapshot
	Bindings  []*placementv1.ClusterResourceBinding
	Works     []*propagation.Work
	// Selected lists the objects in the newest snapshot; nil: the list in the
	// placement's status is right.
	Selected []placementv1.ResourceIdentifier
	Now      time.Time
}

// Summary is the status of a placement and of its bindings.
type Summary struct {
	Status placementv1.ClusterResourcePlacementStatus
	// Moving reports that the state is about to change, which will be reported.
	Moving bool
	// Members are the statuses of the bindings whose state is final for now, by the
	// member's name.
	Members map[string]BindingStatus
}

// BindingStatus is the new status of a binding.
type BindingStatus struct {
	Binding *placementv1.ClusterResourceBinding
	Status  placementv1.ResourceBindingStatus
}

// Stale reports whether the placement's status lists other resources than the snapshot in
// force holds.
func Stale(in Input) bool {
	latest := Resources(in.Placement, in.Snapshots)
	return latest != nil && (in.Placement.Status.ObservedResourceIndex != latest.Labels[placementv1.LabelResourceIndex] || len(in.Placement.Status.SelectedResources) == 0)
}

// Outdated reports whether a condition of the placement is True for an earlier
// generation.
func Outdated(p *placementv1.ClusterResourcePlacement) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && c.ObservedGeneration < p.Generation
	})
}

// Summarize computes the status of the placement from its decisions, bindings and Works.
func Summarize(in Input) Summary {
	p, policy, latest := in.Placement, placing.LatestPolicy(in.Placement, in.Policies), Resources(in.Placement, in.Snapshots)
	s := Summary{Status: *p.Status.DeepCopy(), Members: map[string]BindingStatus{}}
	if latest != nil {
		s.Status.ObservedResourceIndex = latest.Labels[placementv1.LabelResourceIndex]
	}
	if in.Selected != nil {
		s.Status.SelectedResources = in.Selected
	}
	scheduled := scheduling(p, policy)
	if scheduled.Status == metav1.ConditionUnknown {
		s.Moving = true
		s.Status.Conditions = in.list(p.Status.Conditions, []verdict{scheduled})
		s.Status.PlacementStatuses = nil // what they say is about an earlier form
		s.Status = boundPlacement(p, s.Status, selectedBy(latest))
		return s
	}
	members := in.members(policy, latest)
	s.Status.PlacementStatuses = nil
	all := make([][]verdict, 0, len(members))
	for _, m := range members {
		verdicts := m.verdicts()
		status := in.status(m, verdicts)
		s.Status.PlacementStatuses = append(s.Status.PlacementStatuses, status)
		s.Moving = s.Moving || verdicts[len(verdicts)-1].moving
		if m.decision.Selected {
			all = append(all, verdicts)
			if b, concluded := in.binding(m, verdicts, status); concluded {
				s.Members[m.decision.ClusterName] = b
			}
		}
	}
	list := []verdict{scheduled}
	if scheduled.Status == metav1.ConditionTrue && len(all) > 0 {
		list = append(list, total(all, ReportsDiff(p.Spec.Strategy.ApplyStrategy))...)
	}
	s.Status.Conditions = in.list(p.Status.Conditions, list)
	s.Status = boundPlacement(p, s.Status, selectedBy(latest))
	return s
}

// selectedBy returns the number of objects in the snapshot; 0: it is not recorded.
func selectedBy(latest *placementv1.ClusterResourceSnapshot) int {
	if latest == nil {
		return 0
	}
	return count(latest, placing.AnnotationObjects)
}

// scheduling returns the placement's condition about its policy.
func scheduling(p *placementv1.ClusterResourcePlacement, policy *placementv1.ClusterSchedulingPolicySnapshot) verdict {
	const t = placementv1.ConditionPlacementScheduled
	if !Decided(policy) || placement.Generation(policy) < p.Generation {
		return unknown(t, placementv1.ReasonSchedulePending, "Scheduling has not completed")
	}
	c := meta.FindStatusCondition(policy.Status.Conditions, placementv1.ConditionScheduled)
	if c.Status == metav1.ConditionTrue {
		return yes(t, placementv1.ReasonSchedulingPolicyFulfilled, cmp.Or(c.Message, placement.MessageFulfilled))
	}
	return no(t, placementv1.ReasonSchedulingPolicyUnfulfilled, c.Message)
}

// members returns the chosen members, by name, and those that the placement names and
// that were not chosen.
func (in Input) members(policy *placementv1.ClusterSchedulingPolicySnapshot, latest *placementv1.ClusterResourceSnapshot) []member {
	p := in.Placement
	var out []member
	index, pinned := p.Annotations[placing.AnnotationRollback]
	selected := 0
	for _, d := range policy.Status.ClusterDecisions {
		if !d.Selected && !asked(p, d.ClusterName) {
			continue
		}
		m := member{
			decision: d, latest: latest, diffs: ReportsDiff(p.Spec.Strategy.ApplyStrategy), strategy: p.Spec.Strategy,
			external: p.Spec.Strategy.External(), pinned: pinned, index: index,
		}
		if d.Selected {
			selected++
			m.binding = BindingTo(in.Bindings, d.ClusterName)
			for _, w := range in.Works {
				if w.Key.Cluster == d.ClusterName {
					m.works = append(m.works, w)
				}
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b member) int {
		if a.decision.Selected != b.decision.Selected {
			return map[bool]int{true: -1, false: 1}[a.decision.Selected]
		}
		return cmp.Compare(a.decision.ClusterName, b.decision.ClusterName)
	})
	if n, err := strconv.Atoi(policy.Annotations[placementv1.AnnotationNumberOfClusters]); err == nil && pickN(p) {
		for range min(n-selected, maxNamed) {
			out = append(out, member{decision: placementv1.ClusterDecision{Reason: "Failed to find enough clusters as specified by the scheduling policy"}})
		}
	}
	return out
}

func pickN(p *placementv1.ClusterResourcePlacement) bool {
	return p.Spec.Policy != nil && p.Spec.Policy.PlacementType == placementv1.PickNPlacementType
}

// asked reports whether the placement names the cluster.
func asked(p *placementv1.ClusterResourcePlacement, cluster string) bool {
	return p.Spec.Policy != nil && p.Spec.Policy.PlacementType == placementv1.PickFixedPlacementType && slices.Contains(p.Spec.Policy.ClusterNames, cluster)
}

// status returns the status of one member.
func (in Input) status(m member, verdicts []verdict) placementv1.ResourcePlacementStatus {
	s := placementv1.ResourcePlacementStatus{ClusterName: m.decision.ClusterName}
	if b := m.binding; b != nil {
		s.ApplicableResourceOverrides = b.Spec.ResourceOverrideSnapshots
		s.ApplicableClusterResourceOverrides = b.Spec.ClusterResourceOverrideSnapshots
		s.ObservedResourceIndex = in.indexOf(b.Spec.ResourceSnapshotName)
		m.objects(&s)
	}
	var was []metav1.Condition
	for _, old := range in.Placement.Status.PlacementStatuses {
		if old.ClusterName == s.ClusterName { // clusters that were not found have no name, and the same conditions
			was = old.Conditions
		}
	}
	s.Conditions = in.list(was, verdicts)
	return s
}

// binding returns the status of the member's binding, which is about what the binding
// names, be that the latest or not; false: the binding gives the member nothing, or its
// state is about to change.
func (in Input) binding(m member, verdicts []verdict, told placementv1.ResourcePlacementStatus) (BindingStatus, bool) {
	const scheduled, started = 0, 1
	if m.binding == nil {
		return BindingStatus{}, false
	}
	if name := m.binding.Spec.ResourceSnapshotName; m.latest == nil || m.latest.Name != name {
		m.latest, m.external = in.snapshot(name), false
		verdicts = m.verdicts()
	}
	if len(verdicts) <= started || verdicts[started].Status != metav1.ConditionTrue || verdicts[len(verdicts)-1].moving {
		return BindingStatus{}, false
	}
	s := placementv1.ResourceBindingStatus{
		FailedPlacements: told.FailedPlacements, DriftedPlacements: told.DriftedPlacements, DiffedPlacements: told.DiffedPlacements,
	}
	for _, v := range verdicts[scheduled+1:] {
		c := v.Condition
		c.ObservedGeneration = m.binding.Generation
		set, _ := conditions.Set(conditions.Only(m.binding.Status.Conditions, c.Type), c, in.Now)
		s.Conditions = append(s.Conditions, set...)
	}
	return BindingStatus{m.binding, boundBinding(s)}, true
}

// snapshot returns the snapshot, or the first part of it, of that name; nil: there is none.
func (in Input) snapshot(name string) *placementv1.ClusterResourceSnapshot {
	for _, s := range in.Snapshots {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (in Input) indexOf(snapshot string) string {
	s := in.snapshot(snapshot)
	if s == nil {
		return ""
	}
	return s.Labels[placementv1.LabelResourceIndex]
}

// list makes conditions of verdicts, in their order. A condition that says the same as
// before keeps its time.
func (in Input) list(was []metav1.Condition, verdicts []verdict) []metav1.Condition {
	var out []metav1.Condition
	for _, v := range verdicts {
		c := v.Condition
		c.ObservedGeneration = in.Placement.Generation
		set, _ := conditions.Set(conditions.Only(was, c.Type), c, in.Now)
		out = append(out, set...)
	}
	return out
}

// phrases are the texts about all members together: while some are pending, if some
// failed, and if all succeeded.
type phrases struct {
	placement, member          string
	pending, failed, succeeded string
	reasonPending, reasonNo    string
	reasonYes                  string
}

var phrasesOf = []phrases{
	{
		placementv1.ConditionPlacementRolloutStarted, placementv1.ConditionRolloutStarted,
		"There are still %d cluster(s) in the process of deciding whether to roll out the latest resources or not",
		"The rollout is being blocked by the rollout strategy in %d cluster(s)", "All %d cluster(s) start rolling out the latest resource",
		placementv1.ReasonRolloutStartedUnknown, placementv1.ReasonRolloutNotStartedYet, placementv1.ReasonRolloutStarted,
	}, {
		placementv1.ConditionPlacementOverridden, placementv1.ConditionOverridden,
		"There are still %d cluster(s) in the process of overriding the selected resources",
		"Failed to override resources in %d cluster(s)", "The selected resources are successfully overridden in %d cluster(s)",
		placementv1.ReasonOverriddenPending, placementv1.ReasonOverriddenFailed, placementv1.ReasonOverriddenSucceeded,
	}, {
		placementv1.ConditionPlacementWorkSynchronized, placementv1.ConditionWorkSynchronized,
		"There are still %d cluster(s) in the process of synchronizing the works",
		"There are %d cluster(s) which have not finished creating or updating work(s) yet", "Work(s) are successfully created or updated in the %d target clusters' namespaces",
		placementv1.ReasonWorkSynchronizedUnknown, placementv1.ReasonWorkNotSynchronizedYet, placementv1.ReasonWorkSynchronized,
	}, {
		placementv1.ConditionPlacementApplied, placementv1.ConditionApplied,
		"There are still %d cluster(s) in the process of applying the selected resources",
		"Failed to apply resources to %d cluster(s), please check the failedPlacements status", "The selected resources are successfully applied to %d clusters",
		placementv1.ReasonApplyPending, placementv1.ReasonApplyFailed, placementv1.ReasonApplySucceeded,
	}, {
		placementv1.ConditionPlacementAvailable, placementv1.ConditionAvailable,
		"There are still %d cluster(s) in the process of checking the availability of the selected resources",
		"The selected resources in %d cluster(s) are still not available yet", "The selected resources in %d cluster are available now",
		placementv1.ReasonResourceAvailableUnknown, placementv1.ReasonResourceNotAvailableYet, placementv1.ReasonResourceAvailable,
	}, {
		placementv1.ConditionPlacementDiffReported, placementv1.ConditionDiffReported,
		"There are still %d cluster(s) in the process of looking for differences",
		"Looking for differences failed in %d cluster(s)", "Diff reporting in %d clusters has been completed",
		placementv1.ReasonDiffReportingPending, placementv1.ReasonDiffReportingIncomplete, placementv1.ReasonDiffReportingCompleted,
	},
}

// total returns the placement's conditions after Scheduled, up to the first that is not
// True.
func total(all [][]verdict, diffs bool) []verdict {
	var out []verdict
	for _, ph := range phrasesOf {
		written := ph.member == placementv1.ConditionApplied || ph.member == placementv1.ConditionAvailable
		if diffs && written || !diffs && ph.member == placementv1.ConditionDiffReported {
			continue
		}
		v := ph.of(all)
		out = append(out, v)
		if v.Status != metav1.ConditionTrue {
			break
		}
	}
	return out
}

// of returns the condition for all members together.
func (ph phrases) of(all [][]verdict) verdict {
	failed, pending, plain, external := 0, 0, true, false
	for _, verdicts := range all {
		i := slices.IndexFunc(verdicts, func(v verdict) bool { return v.Type == ph.member })
		switch {
		case i < 0 || verdicts[i].Status == metav1.ConditionUnknown:
			pending++
			external = external || i >= 0 && verdicts[i].Reason == placementv1.ReasonRolloutControlledExternally
		case verdicts[i].Status == metav1.ConditionFalse:
			failed++
		default:
			plain = plain && verdicts[i].Reason == placementv1.ReasonNoOverrideSpecified
		}
	}
	switch {
	case failed > 0:
		return no(ph.placement, ph.reasonNo, fmt.Sprintf(ph.failed, failed))
	case external:
		return unknown(ph.placement, placementv1.ReasonRolloutControlledExternally, fmt.Sprintf("The rollout is controlled by an external controller, which has not given the latest resources to %d cluster(s)", pending))
	case pending > 0:
		return unknown(ph.placement, ph.reasonPending, fmt.Sprintf(ph.pending, pending))
	case plain && ph.member == placementv1.ConditionOverridden:
		return yes(ph.placement, placementv1.ReasonNoOverrideSpecified, "No override rules are configured for the selected resources")
	}
	return yes(ph.placement, ph.reasonYes, fmt.Sprintf(ph.succeeded, len(all)))
}

// Event is a Kubernetes event about a placement.
type Event struct {
	Reason, Message string
	// Occasion is the generation and the stage, in a form that sorts in the order in which
	// they follow each other.
	Occasion string
}

var eventOf = map[string]Event{
	placementv1.ConditionPlacementRolloutStarted:   {Reason: placementv1.EventRolloutStarted, Message: "Started rolling out the latest resources"},
	placementv1.ConditionPlacementOverridden:       {Reason: placementv1.EventOverriddenSucceeded, Message: "Placement has been successfully overridden"},
	placementv1.ConditionPlacementWorkSynchronized: {Reason: placementv1.EventWorkSynchronized, Message: "Work(s) have been created or updated successfully for the selected cluster(s)"},
	placementv1.ConditionPlacementApplied:          {Reason: placementv1.EventApplied, Message: "Resources have been applied to the selected cluster(s)"},
	placementv1.ConditionPlacementAvailable:        {Reason: placementv1.EventRolloutCompleted, Message: "Resources are available in the selected clusters"},
	placementv1.ConditionPlacementDiffReported:     {Reason: placementv1.EventDiffReported, Message: "Differences have been reported for the selected cluster(s)"},
}

// Events returns an event for each condition that became True. A condition may do so more
// than once in a generation: the caller has to record one event for each Occasion.
func Events(was, now []metav1.Condition) []Event {
	var out []Event
	for i, c := range now {
		old := meta.FindStatusCondition(was, c.Type)
		before := old != nil && old.Status == metav1.ConditionTrue && old.ObservedGeneration == c.ObservedGeneration
		if e, told := eventOf[c.Type]; told && c.Status == metav1.ConditionTrue && !before {
			e.Occasion = fmt.Sprintf("%08d-%d", c.ObservedGeneration, i)
			out = append(out, e)
		}
	}
	return out
}
