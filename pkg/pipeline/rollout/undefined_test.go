// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/outcome"
)

// defining is a world in which the definition of overrides comes and goes.
type defining struct {
	*overriding
	// defined is when it was made, and failed why nobody can tell.
	defined time.Time
	failed  error
	asked   int
	uid     string
}

func (w *defining) ClusterOverride(context.Context, string) (*placementv1.ClusterResourceOverride, error) {
	if w.override == nil {
		return nil, outcome.ErrGone
	}
	return w.override, w.serves("overrides that people write")
}

func (w *defining) ClusterOverrides(context.Context) ([]*placementv1.ClusterResourceOverride, error) {
	if w.override == nil {
		return nil, w.serves("overrides that people write")
	}
	return []*placementv1.ClusterResourceOverride{w.override}, nil
}

func (w *defining) ClusterOverridesDefined(context.Context) (time.Time, error) {
	w.asked++
	return w.defined, w.failed
}

// CommitClusterOverrideSnapshot dates what is made, as the API server does.
func (w *defining) CommitClusterOverrideSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	if old == nil {
		next.CreationTimestamp = metav1.NewTime(w.now)
	}
	return w.overriding.CommitClusterOverrideSnapshot(ctx, old, next)
}

// apply makes the override, and has the stage look at it, and at the placement.
func (w *defining) apply(t *testing.T) {
	t.Helper()
	w.uid += "u"
	w.override = overridingRole("reader").override
	w.override.UID = types.UID(w.uid)
	w.override.Spec = overridingRole("reader").stored[0].Spec.OverrideSpec
	w.looks(t)
}

// schedule has the stage plan once more.
func (w *defining) schedule(t *testing.T) {
	t.Helper()
	if _, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), scheduled(t)); err != nil {
		t.Fatal(err)
	}
}

// looks has the stage look at the override, and at the placement.
func (w *defining) looks(t *testing.T) {
	t.Helper()
	key := propagation.TemplateKey{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourceOverride, Name: "o"}
	changed, err := events.NewResource("hub", events.ResourceUpdated, events.Object{TemplateKey: key})
	if err != nil {
		t.Fatal(err)
	}
	told, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), changed)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range told {
		if _, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	w.available(placementv1.ReasonAllWorkAvailable)
}

// has is what the binding names, without what it says of it.
func (w *defining) has() (names []string, undefined string) {
	b := w.bindings[0]
	return b.Spec.ClusterResourceOverrideSnapshots, b.Annotations[rollout.AnnotationUndefined]
}

// An override of placements that goes with the definition of its kind stays in force: nobody
// deleted it.
func TestZ11AnOverrideThatNobodyDeletedStaysInForce(t *testing.T) {
	for sentence, tc := range map[string]struct {
		defined  time.Duration // when it was made, before or after the override's snapshot
		failed   error
		unserved bool // the list of overrides is not served
		former   bool // the binding is an earlier release's
		stays    bool
	}{
		"somebody deleted it":                       {defined: -time.Hour},
		"its definition is being deleted":           {defined: -time.Hour, failed: outcome.ErrNotServed, stays: true},
		"its definition is gone":                    {failed: outcome.ErrNotServed, unserved: true, stays: true},
		"its kind is not served":                    {defined: -time.Hour, unserved: true, stays: true},
		"it was defined anew since":                 {defined: time.Hour, stays: true},
		"nobody knows when it was defined":          {},
		"nobody knows when it was made":             {defined: time.Hour, former: true},
		"nobody knows, and the definition is going": {defined: -time.Hour, failed: outcome.ErrNotServed, former: true, stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := &defining{overriding: &overriding{world: newWorld("a")}}
			w.apply(t)
			if names, _ := w.has(); !slices.Equal(names, []string{"o-0"}) || w.asked > 0 {
				t.Fatalf("the binding names %q, and it was asked %d times for the definition", names, w.asked)
			}
			made := w.now
			if w.now = w.now.Add(2 * time.Hour); tc.former {
				delete(w.bindings[0].Annotations, rollout.AnnotationOverridesMade)
			}
			w.override, w.failed, w.stored = nil, tc.failed, nil
			if tc.defined != 0 {
				w.defined = made.Add(tc.defined)
			}
			if tc.unserved {
				w.missing = []string{"overrides that people write"}
			}
			w.schedule(t)
			want := map[bool][]string{true: {"o-0"}}[tc.stays]
			if names, says := w.has(); !slices.Equal(names, want) || (says == "ClusterResourceOverride o") != tc.stays {
				t.Errorf("the binding names %q, and says %q", names, says)
			}
			w.writes = nil
			if w.schedule(t); len(w.writes) > 0 {
				t.Errorf("written again: %q", w.writes)
			}

			w.missing, w.failed, w.defined = nil, nil, w.now
			w.apply(t)
			names, says := w.has()
			if len(names) != 1 || !slices.ContainsFunc(w.stored, func(s *placementv1.ClusterResourceOverrideSnapshot) bool { return s.Name == names[0] }) || says != "" {
				t.Errorf("it was applied again, and the binding names %q, and says %q", names, says)
			}
			w.override = nil
			if w.looks(t); len(w.stored) > 0 {
				t.Errorf("%d snapshots are left", len(w.stored))
			}
			if names, says := w.has(); len(names) > 0 || says != "" {
				t.Errorf("somebody deleted it, and the binding names %q, and says %q", names, says)
			}
		})
	}
}

// What nobody can tell changes nothing: it is tried again.
func TestZ11ADefinitionOfOverridesThatCannotBeRead(t *testing.T) {
	w := &defining{overriding: &overriding{world: newWorld("a")}}
	w.apply(t)
	w.override, w.stored, w.failed = nil, nil, errors.New("the API server does not answer")
	w.writes = nil
	_, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), scheduled(t))
	if err == nil || !strings.Contains(err.Error(), "ClusterResourceOverride o") || len(w.writes) > 0 {
		t.Errorf("it ends with %v, and wrote %q", err, w.writes)
	}
}

// Where the hub does not serve the snapshots of overrides, or is about to end that, no member
// loses what an override says: nothing is given to anybody.
func TestZ11WithoutSnapshotsOfOverridesNothingChanges(t *testing.T) {
	w := &defining{overriding: &overriding{world: newWorld("a")}}
	w.apply(t)
	w.snapshot(1)
	w.stored, w.writes = nil, nil
	for name, hub := range map[string]Hub{"gone": unserving{w, true}, "going": unserving{w, false}} {
		_, err := New(hub, func() time.Time { return w.now }).Handle(t.Context(), scheduled(t))
		if !errors.Is(err, outcome.ErrNotServed) || len(w.writes) > 0 {
			t.Errorf("%s: it ends with %v, and wrote %q", name, err, w.writes)
		}
	}
}

// unserving is a hub that makes no snapshots of overrides, and may serve none.
type unserving struct {
	*defining
	gone bool
}

func (w unserving) ClusterOverrideSnapshots(ctx context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	if w.gone {
		return nil, outcome.ErrNotServed
	}
	return w.defining.ClusterOverrideSnapshots(ctx)
}

func (w unserving) CommitClusterOverrideSnapshot(_ context.Context, old, _ *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	return old, outcome.ErrNotServed
}
