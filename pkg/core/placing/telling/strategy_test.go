// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

// What the placement says of how objects are applied and deleted goes to the bindings,
// and from there to the Works. Until it is there nothing is True of the new generation.
func TestC80C85AnotherStrategyIsToldWhenItWasCarried(t *testing.T) {
	drifted := &placementv1.ApplyStrategy{WhenToApply: placementv1.WhenToApplyTypeIfNotDrifted}
	abandon := &placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyAbandon}
	bindings := func(change func(*placementv1.ResourceBindingSpec)) func(*Input) {
		return func(in *Input) {
			for _, b := range in.Bindings {
				change(&b.Spec)
			}
		}
	}
	works := func(change func(*propagation.Work)) func(*Input) {
		return func(in *Input) {
			for _, w := range in.Works {
				change(w)
			}
		}
	}
	apply := func(in *Input) { in.Placement.Spec.Strategy.ApplyStrategy = drifted.DeepCopy() }
	remove := func(in *Input) { in.Placement.Spec.Strategy.DeleteStrategy = abandon.DeepCopy() }
	applyBound := bindings(func(b *placementv1.ResourceBindingSpec) { b.ApplyStrategy = drifted })
	removeBound := bindings(func(b *placementv1.ResourceBindingSpec) { b.DeleteStrategy = abandon })
	const started, synced = placementv1.ConditionPlacementRolloutStarted, placementv1.ConditionPlacementWorkSynchronized
	for name, tc := range map[string]struct {
		change []func(*Input)
		stops  string // the first condition that is not True; empty: all are
	}{
		"none is said anywhere":        {},
		"how it is applied was edited": {change: []func(*Input){apply}, stops: started},
		"the bindings have it":         {change: []func(*Input){apply, applyBound}, stops: synced},
		"the Works have it":            {change: []func(*Input){apply, applyBound, works(func(w *propagation.Work) { w.Strategy = drifted })}},
		"it was taken out":             {change: []func(*Input){applyBound, works(func(w *propagation.Work) { w.Strategy = drifted })}, stops: started},
		"how it is deleted was edited": {change: []func(*Input){remove}, stops: started},
		"the bindings have that":       {change: []func(*Input){remove, removeBound}, stops: synced},
		"the Works have that":          {change: []func(*Input){remove, removeBound, works(func(w *propagation.Work) { w.Spec.PreserveResourcesOnDeletion = new(true) })}},
		"Delete is what Works do without that": {change: []func(*Input){func(in *Input) {
			in.Placement.Spec.Strategy.DeleteStrategy = &placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyDelete}
		}, bindings(func(b *placementv1.ResourceBindingSpec) {
			b.DeleteStrategy = &placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyDelete}
		})}},
		"somebody else rolls out, and the strategy is the placement's all the same": {
			change: []func(*Input){func(in *Input) { in.Placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType }, apply}, stops: started,
		},
		"somebody else rolls out, and all is there": {change: []func(*Input){func(in *Input) { in.Placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType }}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(world(tc.change...))
			last := s.Status.Conditions[len(s.Status.Conditions)-1]
			if tc.stops == "" && (last.Type != placementv1.ConditionPlacementAvailable || last.Status != metav1.ConditionTrue || s.Moving) {
				t.Errorf("it ends with %+v, moving %t", last, s.Moving)
			}
			if tc.stops == "" {
				return
			}
			if c := meta.FindStatusCondition(s.Status.Conditions, tc.stops); c == nil || c.Status == metav1.ConditionTrue || last.Type != tc.stops || !s.Moving {
				t.Errorf("it ends with %+v, moving %t, want %s", last, s.Moving, tc.stops)
			}
		})
	}
}

// The renderer says on the first Work how many there are. How many envelopes the snapshot
// says it has anybody may have edited.
func TestC82TheWorksThatThereHaveToBeAreTheRenderers(t *testing.T) {
	for name, tc := range map[string]struct {
		works, envelopes string
		want             metav1.ConditionStatus
	}{
		"as many as both say":                    {works: "1", envelopes: "0", want: metav1.ConditionTrue},
		"the snapshot was edited":                {works: "1", envelopes: "7", want: metav1.ConditionTrue},
		"the Work of an envelope is not there":   {works: "2", envelopes: "0", want: metav1.ConditionFalse},
		"an earlier version made the Works":      {envelopes: "0", want: metav1.ConditionTrue},
		"which lack one that the snapshot wants": {envelopes: "1", want: metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(world(func(in *Input) {
				in.Snapshots[0].Annotations[placementv1.AnnotationNumberOfEnvelopedObjects] = tc.envelopes
				for _, w := range in.Works {
					if tc.works != "" {
						w.Annotations[rendering.AnnotationWorks] = tc.works
					}
				}
			}))
			if c := meta.FindStatusCondition(s.Status.Conditions, placementv1.ConditionPlacementWorkSynchronized); c == nil || c.Status != tc.want {
				t.Errorf("it says %+v", c)
			}
		})
	}
}

// What a binding says is about what it names: a member that waits for the latest, and
// what it has becomes unavailable meanwhile, does not count as available.
func TestC64ABindingTellsOfWhatItNames(t *testing.T) {
	for sentence, strategy := range map[string]placementv1.RolloutStrategyType{
		"the placement rolls out by itself": placementv1.RollingUpdateRolloutStrategyType, "a run rolls it out": placementv1.ExternalRolloutStrategyType,
	} {
		t.Run(sentence, func(t *testing.T) {
			s := Summarize(world(func(in *Input) {
				in.Placement.Spec.Strategy.Type = strategy
				latest := in.Snapshots[0].DeepCopy()
				in.Snapshots[0].Labels[placementv1.LabelIsLatestSnapshot] = "false"
				latest.Name, latest.Labels[placementv1.LabelResourceIndex] = "crp-1-1-snapshot", "1"
				in.Snapshots = append(in.Snapshots, latest)
				in.Works[0] = workOf(in.Bindings[0], done("Deployment", map[string]any{"observedGeneration": int64(1), "replicas": int64(1)}))
			}))
			b, told := s.Members["kind-cluster-1"]
			if !told {
				t.Fatal("the binding is not told of")
			}
			got := texts(b.Status.Conditions)
			if want := "Available False NotAllWorkAreAvailable 1: Work object crp-1-work is not yet available"; got[len(got)-1] != want {
				t.Errorf("got %q, want %q at the end", got, want)
			}
			for _, c := range s.Status.PlacementStatuses[0].Conditions {
				if c.Type == placementv1.ConditionRolloutStarted && c.Status == metav1.ConditionTrue {
					t.Error("the placement says that the latest is being rolled out to the member")
				}
			}
		})
	}
}
