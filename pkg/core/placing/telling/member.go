// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

// maxNamed is how many objects of a member are named.
const maxNamed = 100

// member is the state of the placement in one member.
type member struct {
	decision placementv1.ClusterDecision
	binding  *placementv1.ClusterResourceBinding
	works    []*propagation.Work
	// latest is the first part of the newest snapshot.
	latest *placementv1.ClusterResourceSnapshot
	diffs  bool
	// strategy is the placement's.
	strategy placementv1.RolloutStrategy
	// external: an external controller decides when the member gets the snapshot.
	external bool
	// pinned: the placement is rolled back, to the index that it says.
	pinned bool
	index  string
}

// verdict is a condition of a member. moving: the state is about to change, and the
// component that changes it reports that.
type verdict struct {
	metav1.Condition
	moving bool
}

func yes(t, reason, message string) verdict {
	return verdict{Condition: metav1.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason, Message: message}}
}

func no(t, reason, message string) verdict {
	return verdict{Condition: metav1.Condition{Type: t, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
}

func unknown(t, reason, message string) verdict {
	return verdict{Condition: metav1.Condition{Type: t, Status: metav1.ConditionUnknown, Reason: reason, Message: message}, moving: true}
}

// verdicts returns the member's conditions, up to the first that is not True.
func (m member) verdicts() []verdict {
	checks := []func() verdict{m.scheduled, m.started, m.overridden, m.synchronized, m.applied, m.available}
	if m.diffs {
		checks = []func() verdict{m.scheduled, m.started, m.overridden, m.synchronized, m.diffed}
	}
	var out []verdict
	for _, check := range checks {
		v := check()
		out = append(out, v)
		if v.Status != metav1.ConditionTrue {
			break
		}
	}
	return out
}

func (m member) scheduled() verdict {
	d := m.decision
	if !d.Selected {
		if d.ClusterName == "" {
			return no(placementv1.ConditionScheduled, placementv1.ReasonScheduleFailed, d.Reason)
		}
		return no(placementv1.ConditionScheduled, placementv1.ReasonScheduleFailed, fmt.Sprintf("%s is not selected: %s", d.ClusterName, d.Reason))
	}
	affinity, spread := scores(d.ClusterScore)
	return yes(placementv1.ConditionScheduled, placementv1.ReasonScheduled, fmt.Sprintf(
		"Successfully scheduled resources for placement in %s (affinity score: %d, topology spread score: %d): %s", d.ClusterName, affinity, spread, d.Reason))
}

func scores(s *placementv1.ClusterScore) (affinity, spread int32) {
	if s == nil {
		return 0, 0
	}
	if s.AffinityScore != nil {
		affinity = *s.AffinityScore
	}
	if s.TopologySpreadScore != nil {
		spread = *s.TopologySpreadScore
	}
	return affinity, spread
}

func (m member) started() verdict {
	const t = placementv1.ConditionRolloutStarted
	b := m.binding
	switch {
	case b != nil && m.latest == nil && m.pinned:
		return no(t, placementv1.ReasonRolloutNotStartedYet, fmt.Sprintf("The placement is rolled back to the snapshot with index %q, which does not exist: the cluster keeps what it has", m.index))
	case b == nil || m.latest == nil:
		return unknown(t, placementv1.ReasonRolloutStartedUnknown, "In the process of deciding whether to roll out the latest resources or not")
	case m.external && (b.Spec.State != placementv1.BindingStateBound || b.Spec.ResourceSnapshotName != m.latest.Name):
		v := unknown(t, placementv1.ReasonRolloutControlledExternally, "The rollout is controlled by an external controller, which has not given the latest resources to the cluster")
		v.moving = false
		return v
	case b.Spec.State != placementv1.BindingStateBound || b.Spec.ResourceSnapshotName != m.latest.Name || m.said(t, metav1.ConditionFalse) != nil:
		return no(t, placementv1.ReasonRolloutNotStartedYet, "The rollout is being blocked by the rollout strategy")
	case !equality.Semantic.DeepEqual(b.Spec.ApplyStrategy, m.strategy.ApplyStrategy) || !equality.Semantic.DeepEqual(b.Spec.DeleteStrategy, m.strategy.DeleteStrategy):
		return unknown(t, placementv1.ReasonRolloutStartedUnknown, "In the process of passing on how the resources are applied and deleted")
	}
	return yes(t, placementv1.ReasonRolloutStarted, "Detected the new changes on the resources and started the rollout process")
}

// said returns the binding's condition of that type for its present generation, if it
// has that status; otherwise nil.
func (m member) said(t string, status metav1.ConditionStatus) *metav1.Condition {
	c := meta.FindStatusCondition(m.binding.Status.Conditions, t)
	if c == nil || c.Status != status || c.ObservedGeneration != m.binding.Generation {
		return nil
	}
	return c
}

func (m member) overridden() verdict {
	const t = placementv1.ConditionOverridden
	if c := m.said(t, metav1.ConditionFalse); c != nil {
		return no(t, placementv1.ReasonOverriddenFailed, c.Message)
	}
	if len(m.binding.Spec.ClusterResourceOverrideSnapshots)+len(m.binding.Spec.ResourceOverrideSnapshots) == 0 {
		return yes(t, placementv1.ReasonNoOverrideSpecified, "No override rules are configured for the selected resources")
	}
	return yes(t, placementv1.ReasonOverriddenSucceeded, "Successfully applied the override rules on the resources")
}

func (m member) synchronized() verdict {
	const t = placementv1.ConditionWorkSynchronized
	if c := m.said(t, metav1.ConditionFalse); c != nil {
		if c.Reason == placementv1.ReasonTooLarge {
			return no(t, c.Reason, c.Message)
		}
		return no(t, placementv1.ReasonSyncWorkFailed, c.Message)
	}
	if !m.complete() {
		v := no(t, placementv1.ReasonWorkNotSynchronizedYet, "In the process of synchronizing the works")
		v.moving = true
		return v
	}
	return yes(t, placementv1.ReasonAllWorkSynced, "All of the works are synchronized to the latest")
}

// complete reports whether the Works are exactly those that the binding asks for.
func (m member) complete() bool {
	spec := m.binding.Spec
	parts, envelopes, works := 0, 0, ""
	made := rendering.MadeOf(spec)
	for _, w := range m.works {
		if w.Deleting || !follows(w, spec) || !made(w) {
			return false
		}
		works = cmp.Or(works, w.Annotations[rendering.AnnotationWorks])
		if w.Labels[placementv1.LabelEnvelopeName] != "" {
			envelopes++
		} else {
			parts++
		}
	}
	if works != "" { // the renderer's number of Works overrides what follows from the snapshot
		return parts == count(m.latest, placementv1.AnnotationNumberOfResourceSnapshots) && works == strconv.Itoa(len(m.works))
	}
	overridden := len(spec.ClusterResourceOverrideSnapshots)+len(spec.ResourceOverrideSnapshots) > 0
	return parts == count(m.latest, placementv1.AnnotationNumberOfResourceSnapshots) &&
		(overridden || envelopes == count(m.latest, placementv1.AnnotationNumberOfEnvelopedObjects))
}

// follows reports whether the Work's objects are applied and deleted as the binding
// says.
func follows(w *propagation.Work, spec placementv1.ResourceBindingSpec) bool {
	abandons := spec.DeleteStrategy != nil && spec.DeleteStrategy.PropagationPolicy == placementv1.DeletePropagationPolicyAbandon
	stays := w.Spec.PreserveResourcesOnDeletion
	return equality.Semantic.DeepEqual(w.Strategy, spec.ApplyStrategy) && abandons == (stays != nil && *stays)
}

func count(s *placementv1.ClusterResourceSnapshot, annotation string) int {
	n, _ := strconv.Atoi(s.Annotations[annotation])
	return n
}

// worst returns the Works' worst condition of the type: the first that is missing,
// Unknown or of another generation, else one that is False, else one that is True.
func (m member) worst(t string) (*metav1.Condition, *propagation.Work) {
	var failed, good *metav1.Condition
	var failedWork, goodWork *propagation.Work
	for _, w := range m.works {
		c := meta.FindStatusCondition(w.Status.Conditions, t)
		switch {
		case c == nil || c.ObservedGeneration != w.Generation || c.Status == metav1.ConditionUnknown:
			return nil, w
		case c.Status == metav1.ConditionFalse:
			failed, failedWork = cmp.Or(failed, c), cmp.Or(failedWork, w)
		case good == nil || c.Reason == placementv1.ReasonSeedWorkNotTrackable:
			good, goodWork = c, w
		}
	}
	if failed != nil {
		return failed, failedWork
	}
	return good, goodWork
}

func (m member) applied() verdict {
	const t = placementv1.ConditionApplied
	c, w := m.worst(t)
	switch {
	case c == nil && held(w):
		v := unknown(t, placementv1.ReasonApplyPending, "The work "+w.Key.Name+" is suspended")
		v.moving = false
		return v
	case c == nil:
		return unknown(t, placementv1.ReasonApplyInProgress, "The works are being applied")
	case c.Status == metav1.ConditionFalse:
		return no(t, placementv1.ReasonWorkNotApplied, "Work object "+w.Key.Name+" has failed to apply: "+c.Message)
	}
	return yes(t, placementv1.ReasonAllWorkApplied, "All corresponding work objects are applied")
}

// held reports whether the Work says that it is suspended.
func held(w *propagation.Work) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, placementv1.ConditionApplied)
	return c != nil && c.Reason == ReasonHeld && c.ObservedGeneration == w.Generation
}

func (m member) available() verdict {
	const t = placementv1.ConditionAvailable
	c, w := m.worst(t)
	switch {
	case c == nil:
		return unknown(t, placementv1.ReasonResourceAvailableUnknown, "The availability of the works is being told")
	case c.Status == metav1.ConditionFalse:
		return no(t, placementv1.ReasonWorkNotAvailable, "Work object "+w.Key.Name+" is not yet available")
	case c.Reason == placementv1.ReasonSeedWorkNotTrackable:
		return yes(t, placementv1.ReasonWorkNotTrackable, fmt.Sprintf("The availability of work object %s is not trackable (%s)", w.Key.Name, placementv1.ReasonSeedWorkNotTrackable))
	}
	return yes(t, placementv1.ReasonAllWorkAvailable, "All corresponding work objects are available")
}

func (m member) diffed() verdict {
	const t = placementv1.ConditionDiffReported
	if c, _ := m.worst(t); c == nil {
		return unknown(t, placementv1.ReasonDiffReportInProgress, "The differences are being looked for")
	}
	return yes(t, placementv1.ReasonAllWorkDiffReported, "All corresponding work objects have reported diff")
}

// objects adds the member's objects that need attention to the status.
func (m member) objects(s *placementv1.ResourcePlacementStatus) {
	slices.SortFunc(m.works, func(a, b *propagation.Work) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	for _, w := range m.works {
		for _, r := range w.Results {
			id := identifierOf(w, r.Identifier)
			if c := failure(r.Conditions); c != nil && len(s.FailedPlacements) < maxNamed {
				s.FailedPlacements = append(s.FailedPlacements, placementv1.FailedResourcePlacement{ResourceIdentifier: id, Condition: *c})
			}
			if d := r.DriftDetails; d != nil && len(s.DriftedPlacements) < maxNamed {
				s.DriftedPlacements = append(s.DriftedPlacements, placementv1.DriftedResourcePlacement{
					ResourceIdentifier: id, ObservationTime: d.ObservationTime, FirstDriftedObservedTime: d.FirstDriftedObservedTime,
					TargetClusterObservedGeneration: d.ObservedInMemberClusterGeneration, ObservedDrifts: d.ObservedDrifts,
				})
			}
			if d := r.DiffDetails; d != nil && len(s.DiffedPlacements) < maxNamed {
				s.DiffedPlacements = append(s.DiffedPlacements, placementv1.DiffedResourcePlacement{
					ResourceIdentifier: id, ObservationTime: d.ObservationTime, FirstDiffedObservedTime: d.FirstDiffedObservedTime,
					TargetClusterObservedGeneration: d.ObservedInMemberClusterGeneration, ObservedDiffs: d.ObservedDiffs,
				})
			}
		}
	}
}

func failure(list []metav1.Condition) *metav1.Condition {
	for _, t := range []string{placementv1.ConditionApplied, placementv1.ConditionAvailable} {
		if c := meta.FindStatusCondition(list, t); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

// identifierOf returns the identifier of an object, with the envelope that contains it.
func identifierOf(w *propagation.Work, id placementv1.WorkResourceIdentifier) placementv1.ResourceIdentifier {
	r := placementv1.ResourceIdentifier{Group: id.Group, Version: id.Version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
	if name := w.Labels[placementv1.LabelEnvelopeName]; name != "" {
		r.Envelope = &placementv1.EnvelopeIdentifier{Name: name, Namespace: w.Labels[placementv1.LabelEnvelopeNamespace], Type: placementv1.ConfigMapEnvelopeType}
	}
	return r
}
