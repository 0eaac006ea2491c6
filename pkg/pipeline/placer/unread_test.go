// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/scheduling/placement"
	"sluice.dev/pkg/outcome"
)

func fixed(names ...string) *placementv1.PlacementPolicy {
	return &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: names}
}

// inForce is the snapshot of the policy in force; empty: there is none.
func (w *world) inForce() string {
	if latest := placing.LatestPolicy(w.placements["crp"], slices.Collect(maps.Values(w.policies))); latest != nil {
		return latest.Name
	}
	return ""
}

// A kind that the hub cannot list says nothing of the policy.
func TestAPolicyActsWhileWhatIsSelectedCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *placementv1.ClusterResourcePlacement)
		want   string
		told   int
	}{
		"the policy was edited": {change: func(p *placementv1.ClusterResourcePlacement) { p.Spec.Policy = fixed("member1") }, want: "crp-1", told: 1},
		"selectors and policy were, and nobody can tell whether they are refused": {change: func(p *placementv1.ClusterResourcePlacement) {
			p.Spec.Policy, p.Spec.ResourceSelectors = fixed("member1"), []placementv1.ClusterResourceSelector{named("Namespace", "")}
		}, want: "crp-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			w.now = w.now.Add(time.Hour)
			w.states = map[string]*state{} // all is read afresh
			w.broken = "Widget"
			tc.change(w.placements["crp"])
			for range 2 { // handled again, it tells the same
				out, err := w.handle(touched(t))
				if err == nil || !strings.Contains(err.Error(), "webhook") || outcome.IsPartly(err) != (tc.told > 0) || len(out) != tc.told {
					t.Errorf("it tells %v, and %v", out, err)
				}
			}
			if got := w.inForce(); got != tc.want {
				t.Errorf("in force is %s, want %s", got, tc.want)
			}
			w.broken = ""
			w.touch(t)
			if got := w.inForce(); got != "crp-1" {
				t.Errorf("in force is %s after all", got)
			}
		})
	}
}

// While selectors are refused, each later edit is told that they are.
func TestZ2ALaterEditIsRefusedInItsOwnForm(t *testing.T) {
	w := shop(t)
	w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}
	w.touch(t)
	p := w.placements["crp"]
	p.Generation++
	p.Spec.Policy = fixed("member2")
	w.touch(t)
	if c := w.placements["crp"].Status.Conditions; len(c) != 1 || c[0].ObservedGeneration != p.Generation || !strings.Contains(c[0].Message, "waits, too") {
		t.Errorf("it says %+v", c)
	}
	w.writes, w.reads = nil, nil
	w.touch(t)
	if len(w.writes) > 0 || slices.ContainsFunc(w.reads, func(r string) bool { return strings.HasPrefix(r, "list ") }) {
		t.Errorf("and again: %v, %v", w.reads, w.writes)
	}
}

// A policy's snapshot that is deleted while selectors are refused is made anew where the
// bindings say that this policy is in force.
func TestZ2APolicysSnapshotIsMadeAnewWhileSelectorsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"its members were picked by it": {want: "crp-0"},
		"the policy was edited since":   {change: func(w *world) { w.placements["crp"].Spec.Policy = fixed("member2") }},
		"nobody noted by which": {change: func(w *world) {
			for _, b := range w.bindings {
				b.Annotations = nil
			}
		}},
		"nobody was picked": {change: func(w *world) { w.bindings = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			b := &placementv1.ClusterResourceBinding{}
			b.Annotations = map[string]string{placement.AnnotationPolicyHash: string(w.policies["crp-0"].Spec.PolicyHash)}
			w.bindings = append(w.bindings, b)
			w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}
			w.touch(t)
			if tc.change != nil {
				tc.change(w)
			}
			delete(w.policies, "crp-0")
			w.touch(t)
			if got := w.inForce(); got != tc.want {
				t.Errorf("in force is %q, want %q", got, tc.want)
			}
		})
	}
}
