// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// newBinding is a binding that gives the member nothing yet. The placement owns it,
// and its Works hold it until they are gone.
func newBinding(p *placementv1.ClusterResourcePlacement, cluster, name string) *placementv1.ClusterResourceBinding {
	yes := true
	b := &placementv1.ClusterResourceBinding{}
	b.Name = name
	b.Labels = map[string]string{placementv1.LabelParentCRP: p.Name}
	b.Finalizers = []string{placementv1.FinalizerWork}
	b.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourcePlacement,
		Name: p.Name, UID: p.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	b.Spec.State, b.Spec.TargetCluster = placementv1.BindingStateScheduled, cluster
	return b
}

func annotate(b *placementv1.ClusterResourceBinding, key, value string) {
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	b.Annotations[key] = value
}

// Suspended reports whether the binding says that its Works are suspended.
func Suspended(b *placementv1.ClusterResourceBinding) bool {
	return propagation.PlacementSuspended(b.Annotations, b.Spec.TargetCluster)
}

// availability is what is known of what a member has.
type availability struct {
	available bool
	// failed says that it will not become available as it is.
	failed bool
	// until is when it counts as available though nobody can tell; zero: that is not
	// a matter of time.
	until time.Time
	// why it is not available, as what is said of the member.
	why string
}

// stages of a binding's status, each of which may have failed; from rendered on they are
// about what is in the member.
var stages = []string{
	placementv1.ConditionOverridden, placementv1.ConditionWorkSynchronized, placementv1.ConditionApplied, placementv1.ConditionAvailable,
}

const rendered = 2

// assess says whether what the binding names is available in its member. What was
// available and cannot be rendered any more, since a snapshot is missing, is: the member
// keeps what it has, and others that have it, too, must not be changed all at once.
func assess(b *placementv1.ClusterResourceBinding, period time.Duration, now time.Time) availability {
	c := current(b, placementv1.ConditionAvailable)
	failures := stages
	if c != nil && c.Status == metav1.ConditionTrue {
		failures = stages[rendered:]
	}
	for _, stage := range failures {
		if c := current(b, stage); c != nil && c.Status == metav1.ConditionFalse {
			return availability{failed: true, why: said(c)}
		}
	}
	if c == nil || c.Status != metav1.ConditionTrue {
		if Suspended(b) {
			return availability{why: "is suspended"}
		}
		return availability{why: "is not known to be available yet"}
	}
	if !untrackable(c) {
		return availability{available: true}
	}
	since := c.LastTransitionTime.Time
	if at := BoundAt(b); at.After(since) {
		since = at
	}
	if until := since.Add(period); until.After(now) {
		return availability{until: until, why: "counts as available from " + until.UTC().Format(time.RFC3339)}
	}
	return availability{available: true}
}

// Available reports whether what the binding names is available in its member; where it is
// not, why, and whether it failed.
func Available(p *placementv1.ClusterResourcePlacement, b *placementv1.ClusterResourceBinding, now time.Time) (available, failed bool, why string) {
	_, _, period := p.Spec.Strategy.Pace()
	a := assess(b, period, now)
	return a.available, a.failed, a.why
}

// Has reports whether the binding gives its member that snapshot with those overrides.
func Has(b *placementv1.ClusterResourceBinding, snapshot string, o Overrides) bool {
	return b.Spec.State == placementv1.BindingStateBound && !differs(b, snapshot, o)
}

// differs reports whether the binding names another snapshot, or other overrides, or they
// saw another member.
func differs(b *placementv1.ClusterResourceBinding, snapshot string, o Overrides) bool {
	return b.Spec.ResourceSnapshotName != snapshot || !OverridesOf(b).Same(o)
}

// untrackable tells whether nobody can see that it is available.
func untrackable(c *metav1.Condition) bool {
	return c.Reason == placementv1.ReasonWorkNotTrackable || c.Reason == placementv1.ReasonSeedWorkNotTrackable
}

// current is the condition as it is about what the binding names now; nil: there is
// none.
func current(b *placementv1.ClusterResourceBinding, of string) *metav1.Condition {
	c := meta.FindStatusCondition(b.Status.Conditions, of)
	if c == nil || c.ObservedGeneration < boundGeneration(b) {
		return nil
	}
	return c
}

// boundGeneration is the binding's that gave it what it names now; where it does not
// say, its present one.
func boundGeneration(b *placementv1.ClusterResourceBinding) int64 {
	n, err := strconv.ParseInt(b.Annotations[AnnotationBoundGeneration], 10, 64)
	if err != nil || n > b.Generation {
		return b.Generation
	}
	return n
}

func said(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

// BoundAt returns when the binding got its present snapshot; zero if it does not say.
func BoundAt(b *placementv1.ClusterResourceBinding) time.Time {
	at, err := time.Parse(time.RFC3339Nano, b.Annotations[AnnotationBoundAt])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Observed reports whether the binding's status is about its present generation.
func Observed(b *placementv1.ClusterResourceBinding) bool {
	for _, of := range stages {
		if c := meta.FindStatusCondition(b.Status.Conditions, of); c != nil && c.ObservedGeneration == b.Generation {
			return true
		}
	}
	return false
}

// Uncarried reports whether the Works that the binding asks for cannot be made: what it
// names is missing, cannot be read, or is too large.
func Uncarried(b *placementv1.ClusterResourceBinding) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, placementv1.ConditionWorkSynchronized)
	return c != nil && c.Status == metav1.ConditionFalse && (c.Reason == placementv1.ReasonSyncWorkFailed || c.Reason == placementv1.ReasonTooLarge) && c.ObservedGeneration == b.Generation
}

// held reports whether what a member still has by a binding that is on its way out waits
// there for an approval.
func held(b *placementv1.ClusterResourceBinding) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, placementv1.ConditionApplied)
	return c != nil && c.Reason == string(applying.ReasonHoldsOthers)
}
