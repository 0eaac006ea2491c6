// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// drawWork draws a Work as Sluice may have rendered it, to whose metadata somebody else may
// have added what is named in others.
func drawWork(t *rapid.T, others []string) *propagation.Work {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "nginx"}, Labels: map[string]string{}, Annotations: map[string]string{}}
	some := func(to map[string]string, keys ...string) {
		for _, k := range keys {
			if v := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, k); v != "" {
				to[k] = v
			}
		}
	}
	some(w.Labels, append(others, propagation.LabelBinding)...)
	some(w.Annotations, append(others, propagation.AnnotationRevision, propagation.AnnotationMemberFields,
		propagation.AnnotationDependency, propagation.AnnotationActiveForm, propagation.AnnotationBindingCreated)...)
	w.Finalizers = rapid.SliceOfDistinct(rapid.SampledFrom(append(others, propagation.FinalizerWork)), rapid.ID).Draw(t, "finalizers")
	flag := rapid.SampledFrom([]*bool{nil, new(false), new(true)})
	w.Spec.SuspendDispatching, w.Spec.PreserveResourcesOnDeletion = flag.Draw(t, "suspended"), flag.Draw(t, "preserved")
	w.Strategy = rapid.SampledFrom([]*placementv1.ApplyStrategy{nil, {}, {AllowCoOwnership: true}}).Draw(t, "strategy")
	raw := rapid.SampledFrom([]string{`{"kind":"ConfigMap"}`, `{ "kind": "ConfigMap" }`, `{"kind":"Secret"}`}).Draw(t, "manifest")
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	return w
}

// A Work that is updated says afterwards what it shall, so that the next rendering keeps
// it; and it did not say so before. Otherwise each rendering would plan an update, and
// write nothing.
func TestAnUpdateIsPlannedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		existing, desired := drawWork(t, []string{"example.com/other"}), drawWork(t, nil)
		plans := map[string]func(*propagation.Work) []Step{
			"policy": func(w *propagation.Work) []Step {
				return Plan(nil, []*propagation.Work{w}, map[string]*propagation.Work{w.Key.Cluster: desired}, nil, nil)
			},
			"placement": func(w *propagation.Work) []Step {
				return PlanPlacement([]*propagation.Work{w}, []*propagation.Work{desired})
			},
		}
		for of, plan := range plans {
			first := plan(existing)[0]
			if first.Action == Keep {
				continue
			}
			if cmp.Equal(first.Desired, existing) {
				t.Errorf("a %s's Work: the update changes nothing", of)
			}
			if again := plan(first.Desired)[0]; again.Action != Keep {
				t.Errorf("a %s's Work: %s after %s:\n%s", of, again.Action, first.Action, cmp.Diff(first.Desired, again.Desired))
			}
		}
	})
}
