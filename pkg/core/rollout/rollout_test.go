// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

const second = "shop-1-snapshot"

func wantHas(t *testing.T, w *world, snapshot, want string) {
	t.Helper()
	if got := names(w.has(snapshot)); got != want {
		t.Errorf("%s: in %q, want %q", snapshot, got, want)
	}
}

func TestC62ANewPlacementGoesEverywhereAtOnce(t *testing.T) {
	w := newWorld("25%", "25%", members(3)...)
	p := w.next()
	if len(p.Steps) != 3 || len(p.Waits) != 0 {
		t.Fatalf("%d steps, %d wait, want 3 and none", len(p.Steps), len(p.Waits))
	}
	for _, s := range p.Steps {
		if s.Old != nil || s.Next.Spec.State != placementv1.BindingStateBound || s.Next.Spec.ResourceSnapshotName != "shop-0-snapshot" {
			t.Errorf("%s: %+v, want one write that binds it", s.Cluster(), s.Next.Spec)
		}
	}
	w.settle()
	if p := w.next(); len(p.Steps) > 0 || p.Message != "" {
		t.Errorf("settled, and still %+v", p)
	}
}

func TestC63NewMembersCountAgainstMaxSurge(t *testing.T) {
	w := newWorld("1", "1", "a", "b", "c").settle()
	w.picked = []string{"d", "e", "f"}
	w.roll()
	wantHas(t, w, "", "b c d") // a may be unavailable, and is still there
	if b := w.of("b"); b.Spec.State != placementv1.BindingStateUnscheduled {
		t.Errorf("b is %s, want Unscheduled until it may go", b.Spec.State)
	}
	if e := w.of("e"); e.Spec.State != placementv1.BindingStateScheduled || e.Spec.ResourceSnapshotName != "" {
		t.Errorf("e is %+v, want Scheduled", e.Spec)
	}
	w.settle()
	wantHas(t, w, "", "d e f")
}

func TestC63PickedAgainItStays(t *testing.T) {
	w := newWorld("1", "1", "a", "b", "c").settle()
	w.picked = []string{"d", "e", "f"}
	w.roll()
	w.picked = []string{"a", "b", "c"}
	w.roll()
	if c := w.of("c"); c.Spec.State != placementv1.BindingStateBound {
		t.Errorf("c is %s, want Bound", c.Spec.State)
	}
	w.settle()
	wantHas(t, w, "", "a b c")
}

func TestC64OneAtATime(t *testing.T) {
	w := newWorld("1", "25%", "a", "b", "c").settle()
	w.snapshot = second
	for _, step := range []string{"a", "a b", "a b c"} {
		p := w.roll()
		wantHas(t, w, second, step)
		last := step[len(step)-1:]
		if step != "a b c" && !strings.Contains(p.Message, last+" is not known to be available yet") {
			t.Errorf("waits for %q", p.Message)
		}
		w.observe(last)
	}
	if p := w.roll(); p.Message != "" {
		t.Errorf("done, and waits for %q", p.Message)
	}
}

func TestC65WhatCannotBeSeenIsWaitedFor(t *testing.T) {
	w := newWorld("1", "25%", "a", "b").settle()
	w.snapshot = second
	w.roll()
	w.now = w.now.Add(time.Second)
	w.of("a").Status.Conditions = nil // it was not available in between
	w.report("a", placementv1.ReasonWorkNotTrackable)
	p := w.roll()
	wantHas(t, w, second, "a")
	if want := w.now.Add(5 * time.Second); !p.Due.Equal(want) {
		t.Errorf("due at %s, want %s", p.Due, want)
	}
	if !strings.Contains(p.Message, "a counts as available from 2026-11-23T12:00:06Z") {
		t.Errorf("waits for %q", p.Message)
	}
	w.now = p.Due
	w.roll()
	wantHas(t, w, second, "a b")
}

func TestC65AnotherSnapshotIsWaitedForAnew(t *testing.T) {
	w := newWorld("1", "25%", "a", "b").settle()
	w.snapshot = second
	w.report("a", placementv1.ReasonWorkNotTrackable)
	w.now = w.now.Add(time.Hour)
	w.roll()
	w.of("a").Status.Conditions[0].ObservedGeneration = w.of("a").Generation // True all the time
	w.now = w.now.Add(time.Second)
	if p := w.roll(); !p.Due.Equal(w.now.Add(4 * time.Second)) {
		t.Errorf("due at %s, want 5 s after it was bound", p.Due)
	}
	wantHas(t, w, second, "a")
}

func TestC66AFailureStopsIt(t *testing.T) {
	w := newWorld("1", "25%", "a", "b", "c").settle()
	w.snapshot = second
	w.works = func(_, snapshot string) bool { return snapshot != second }
	w.roll()
	w.observe("a")
	p := w.roll()
	wantHas(t, w, second, "a")
	if p.Reason != placementv1.ReasonRolloutNotStartedYet || !strings.Contains(p.Message, "a NotAllWorkHaveBeenApplied") {
		t.Errorf("waits: %s %q", p.Reason, p.Message)
	}
	t.Run("C67: mended content goes on with the failed one", func(t *testing.T) {
		w.snapshot = "shop-2-snapshot"
		w.roll()
		wantHas(t, w, "shop-2-snapshot", "a")
		w.settle()
		wantHas(t, w, "shop-2-snapshot", "a b c")
	})
}

func TestC61C62WhatCannotBeRenderedAnyMoreIsChangedOneByOne(t *testing.T) {
	for _, of := range []string{placementv1.ConditionOverridden, placementv1.ConditionWorkSynchronized} {
		t.Run(of, func(t *testing.T) {
			w := newWorld("1", "25%", "a", "b", "c").settle()
			for _, c := range w.picked { // what they have is available, and its snapshot is deleted
				b := w.of(c)
				meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: of, Status: metav1.ConditionFalse, Reason: placementv1.ReasonSyncWorkFailed, ObservedGeneration: b.Generation})
			}
			w.snapshot = second
			w.roll()
			wantHas(t, w, second, "a")
			w.observe("a")
			w.roll()
			wantHas(t, w, second, "a b")
		})
	}
}

func TestC68AnEditInTheMiddleLeadsToTheNewest(t *testing.T) {
	w := newWorld("1", "25%", "a", "b", "c").settle()
	w.snapshot = second
	w.roll()
	w.snapshot = "shop-2-snapshot"
	w.roll()
	wantHas(t, w, second, "")
	wantHas(t, w, "shop-2-snapshot", "a")
	w.settle()
	wantHas(t, w, "shop-2-snapshot", "a b c")
}

func TestC69BothChangesAtOnce(t *testing.T) {
	w := newWorld("1", "1", "a", "b", "c").settle()
	w.snapshot, w.policy, w.picked = second, "shop-1", []string{"b", "c", "d"}
	w.roll()
	wantHas(t, w, second, "d")
	if b := w.of("b"); b.Spec.SchedulingPolicySnapshotName != "shop-1" || b.Spec.ResourceSnapshotName != "shop-0-snapshot" {
		t.Errorf("b: %+v, want the policy's new snapshot and the old content", b.Spec)
	}
	if got := names(w.has("")); got != "b c d" {
		t.Errorf("%q have it, want a to be gone", got)
	}
	w.settle()
	wantHas(t, w, second, "b c d")
}

func TestC61SomebodyElseRollsOut(t *testing.T) {
	w := newWorld("1", "1", "a", "b")
	w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
	p := w.roll()
	wantHas(t, w, "", "")
	if p.Reason != placementv1.ReasonRolloutControlledExternally || w.of("a").Spec.State != placementv1.BindingStateScheduled {
		t.Errorf("%s, %+v", p.Reason, w.of("a").Spec)
	}
	bound := w.of("a")
	bound.Spec.State, bound.Spec.ResourceSnapshotName = placementv1.BindingStateBound, "shop-0-snapshot"
	w.snapshot, w.picked = second, []string{"b"}
	w.roll()
	if a := w.of("a"); a == nil || a.Spec.ResourceSnapshotName != "shop-0-snapshot" || a.Spec.State != placementv1.BindingStateUnscheduled {
		t.Errorf("a: %+v, want it marked and left", a)
	}
}

func TestC70AnOverrideRollsOutAsContentDoes(t *testing.T) {
	w := newWorld("1", "1", "a", "b").settle()
	w.overrides = map[string]Overrides{"a": {Cluster: []string{"o-0"}}, "b": {Cluster: []string{"o-0"}}}
	w.roll()
	if a, b := w.of("a").Spec.ClusterResourceOverrideSnapshots, w.of("b").Spec.ClusterResourceOverrideSnapshots; !slices.Equal(a, []string{"o-0"}) || len(b) != 0 {
		t.Errorf("a has %v, b has %v", a, b)
	}
	w.settle()
	if b := w.of("b").Spec.ClusterResourceOverrideSnapshots; !slices.Equal(b, []string{"o-0"}) {
		t.Errorf("b has %v", b)
	}
}

// TestC61C70LabelsThatOverridesLookAt are part of what a member gets: it gets what they make
// of it when it is its turn.
func TestC61C70LabelsThatOverridesLookAt(t *testing.T) {
	of := func(env string) Overrides { return Overrides{Cluster: []string{"o-0"}, For: saw("env", env)} }
	both := func(env string) map[string]Overrides { return map[string]Overrides{"a": of(env), "b": of(env)} }
	has := func(t *testing.T, w *world, a, b string) {
		t.Helper()
		for cluster, env := range map[string]string{"a": a, "b": b} {
			if got := w.of(cluster).Spec.OverriddenFor; got == nil || got.Labels["env"] != env {
				t.Errorf("%s was overridden for %+v, want %s", cluster, got, env)
			}
		}
	}
	begin := func() *world {
		w := newWorld("1", "1", "a", "b")
		w.overrides = both("test")
		return w.settle()
	}
	t.Run("when they change, members follow one after the other", func(t *testing.T) {
		w := begin()
		w.overrides = both("prod")
		p := w.roll()
		has(t, w, "prod", "test")
		if want := "has shop-0-snapshot, and later gets it as the overrides make it now"; len(p.Waits) != 1 || p.Waits[0].Message != want {
			t.Errorf("waits %+v, want of b: %s", p.Waits, want)
		}
		w.settle()
		has(t, w, "prod", "prod")
	})
	t.Run("where runs roll out, members wait for one", func(t *testing.T) {
		w := begin()
		w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
		w.overrides = both("prod")
		w.roll()
		has(t, w, "test", "test")
	})
	t.Run("a binding that does not say what they were is up to date, and comes to say it", func(t *testing.T) {
		w := begin()
		for _, c := range []string{"a", "b"} {
			w.of(c).Spec.OverriddenFor = nil
		}
		at := w.of("a").Annotations[AnnotationBoundAt]
		p := w.next()
		if len(p.Steps) != 2 || len(p.Waits) != 0 {
			t.Errorf("%d steps, and waits %+v; want both bindings to be written at once", len(p.Steps), p.Waits)
		}
		w.roll()
		has(t, w, "test", "test")
		if a := w.of("a"); a.Annotations[AnnotationBoundAt] != at {
			t.Errorf("a got something anew: %v", a.Annotations)
		}
	})
	t.Run("a binding that names other overrides comes to say nothing of them", func(t *testing.T) {
		w := begin()
		w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType
		w.of("a").Spec.OverriddenFor, w.of("a").Spec.ClusterResourceOverrideSnapshots = nil, []string{"former-0"}
		w.roll()
		if got := w.of("a").Spec.OverriddenFor; got != nil {
			t.Errorf("it says %+v", got)
		}
	})
}

func TestAMemberThatComesBackWaitsUntilItIsEmpty(t *testing.T) {
	w := newWorld("100%", "1", "a", "b").settle()
	w.picked = []string{"a"}
	w.roll()
	w.picked = []string{"a", "b"}
	p := w.roll()
	if !strings.Contains(p.Message, "b is being left") || w.of("b").Spec.State != placementv1.BindingStateScheduled {
		t.Errorf("%q, %+v", p.Message, w.of("b").Spec)
	}
	w.finish()
	w.settle()
	wantHas(t, w, "", "a b")
}

func TestNothingMayBeUnavailable(t *testing.T) {
	w := newWorld("0", "0", "a", "b")
	w.roll()
	for _, c := range []string{"a", "b"} {
		w.observe(c)
	}
	w.snapshot = second
	p := w.roll()
	wantHas(t, w, second, "")
	if !strings.Contains(p.Message, "maxUnavailable and maxSurge allow neither") {
		t.Errorf("waits for %q", p.Message)
	}
}

func TestC62ANumberMayBeAString(t *testing.T) {
	for _, tc := range []struct {
		says intstr.IntOrString
		want int
	}{
		{intstr.FromInt32(1), 1},
		{intstr.FromString("1"), 1},
		{intstr.FromString("25%"), 2},
		{intstr.FromString("some"), 0},
	} {
		if got := share(tc.says, 5); got != tc.want {
			t.Errorf("%q of 5 is %d, want %d", tc.says.String(), got, tc.want)
		}
	}
}

// TestC66ThreeOfTwentyFail is a rollout over 20 members, of which three fail at chosen
// moments: the first, one in the middle, and one after it was available.
func TestC66ThreeOfTwentyFail(t *testing.T) {
	w := newWorld("3", "25%", members(20)...).settle()
	w.snapshot = second
	broken := map[string]bool{"member01": true, "member09": true}
	w.works = func(c, snapshot string) bool { return snapshot != second || !broken[c] }
	for round := range 40 {
		p := w.roll()
		unavailable := 0
		for _, c := range members(20) {
			if !assess(w.of(c), 0, w.now).available {
				unavailable++
			}
		}
		if unavailable > 3 {
			t.Fatalf("round %d: %d are unavailable", round, unavailable)
		}
		if len(p.Waits) == 0 {
			break
		}
		if round == 12 {
			broken["member03"] = true // it was available
		}
		for _, c := range members(20) {
			w.observe(c)
		}
	}
	updated := len(w.has(second))
	if p := w.next(); updated == 20 || len(p.Waits) == 0 || len(p.Steps) != 0 {
		t.Fatalf("%d are updated, %d wait, %d steps: three failed, and it goes on", updated, len(p.Waits), len(p.Steps))
	}
	w.snapshot = "shop-2-snapshot"
	w.settle()
	if got := len(w.has("shop-2-snapshot")); got != 20 {
		t.Errorf("%d have what was mended, want 20", got)
	}
}

// A suspension is written on the bindings, whose Works follow, and makes nobody wait;
// its end is, too.
func TestASuspensionIsSaidOnTheBinding(t *testing.T) {
	w := newWorld("1", "1", "a", "b").settle()
	bound := w.of("a").Spec.DeepCopy()
	for _, tc := range []struct {
		says string
		want map[string]bool
	}{
		{"a", map[string]bool{"a": true}}, {"true", map[string]bool{"a": true, "b": true}}, {"", nil},
	} {
		w.placement.Annotations = map[string]string{propagation.AnnotationSuspended: tc.says}
		w.roll()
		for _, c := range []string{"a", "b"} {
			if got := Suspended(w.of(c)); got != tc.want[c] {
				t.Errorf("%q: %s is suspended: %t, want %t", tc.says, c, got, tc.want[c])
			}
		}
		if p := w.next(); len(p.Steps) != 0 || len(p.Waits) != 0 {
			t.Errorf("%q: %d steps and %d waits are left", tc.says, len(p.Steps), len(p.Waits))
		}
	}
	if diff := cmp.Diff(*bound, w.of("a").Spec); diff != "" {
		t.Errorf("the binding (-before +after):\n%s", diff)
	}
}
