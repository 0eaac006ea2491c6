// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// overriding is a world with one override, and what is kept of it.
type overriding struct {
	*world
	override *placementv1.ClusterResourceOverride
	stored   []*placementv1.ClusterResourceOverrideSnapshot
}

func (w *overriding) ClusterOverride(context.Context, string) (*placementv1.ClusterResourceOverride, error) {
	return w.override, nil
}

func (w *overriding) ClusterOverrideSnapshotsOf(context.Context, string) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return slices.Clone(w.stored), nil
}

func (w *overriding) CommitClusterOverrideSnapshot(_ context.Context, old, next *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	if old == nil {
		w.stored = append(w.stored, next)
	} else {
		w.stored[slices.Index(w.stored, old)] = next
	}
	return next, nil
}

func (w *overriding) DeleteClusterOverrideSnapshot(_ context.Context, s *placementv1.ClusterResourceOverrideSnapshot) error {
	w.stored = slices.DeleteFunc(w.stored, func(o *placementv1.ClusterResourceOverrideSnapshot) bool { return o == s })
	return nil
}

// edit changes the override, and has the stage look at it.
func (w *overriding) edit(t *testing.T, to int) {
	t.Helper()
	w.override.Spec.Policy = &placementv1.OverridePolicy{OverrideRules: make([]placementv1.OverrideRule, to)}
	key := propagation.TemplateKey{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourceOverride, Name: w.override.Name}
	e, err := events.NewResource("hub", events.ResourceUpdated, events.Object{TemplateKey: key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(w, nil).Handle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// Of an override ten snapshots are kept, those that members have beside them, one of
// which is the latest. They go with it.
func TestC25C70TheHistoryOfAnOverrideEnds(t *testing.T) {
	w := &overriding{world: newWorld("a"), override: &placementv1.ClusterResourceOverride{ObjectMeta: metav1.ObjectMeta{Name: "o", UID: "u"}}}
	w.handle(t, events.PlacementScheduled)
	for i := range 12 {
		w.edit(t, i)
		if i == 1 {
			w.bindings[0].Spec.ClusterResourceOverrideSnapshots = []string{"o-1"}
		}
	}
	var got []string
	for _, s := range w.stored {
		name := s.Name
		if s.Labels[placementv1.LabelIsLatestSnapshot] == "true" {
			name += " latest"
		}
		got = append(got, name)
		if len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != w.override.UID || s.OwnerReferences[0].Kind != placementv1.KindClusterResourceOverride {
			t.Errorf("%s is owned by %v", s.Name, s.OwnerReferences)
		}
	}
	want := []string{"o-1"}
	for i := 2; i < 11; i++ {
		want = append(want, fmt.Sprintf("o-%d", i))
	}
	want = append(want, "o-11 latest")
	if !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

func (w *overriding) ClusterOverrides(context.Context) ([]*placementv1.ClusterResourceOverride, error) {
	return []*placementv1.ClusterResourceOverride{w.override}, nil
}

func (w *overriding) ClusterOverrideSnapshots(context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return slices.Clone(w.stored), nil
}

func (w *overriding) Fleet(context.Context) ([]*memberclusterv1.MemberCluster, error) {
	return []*memberclusterv1.MemberCluster{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, nil
}

// ResourceSnapshot is an envelope with a ClusterRole in it.
func (w *overriding) ResourceSnapshot(context.Context, string) (*placementv1.ClusterResourceSnapshot, error) {
	const envelope = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"parcel","namespace":"shop","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}},
		"data":{"role":"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n"}}`
	s := w.snapshots[0].DeepCopy()
	s.Spec.SelectedResources = []placementv1.ResourceContent{{RawExtension: runtime.RawExtension{Raw: []byte(envelope)}}}
	return s, nil
}

// overridingRole is a world with an override of that ClusterRole in force.
func overridingRole(name string) *overriding {
	w := &overriding{world: newWorld("a"), override: &placementv1.ClusterResourceOverride{ObjectMeta: metav1.ObjectMeta{Name: "o", UID: "u"}}}
	s := &placementv1.ClusterResourceOverrideSnapshot{}
	s.Name, s.Labels = "o-0", map[string]string{placementv1.LabelIsLatestSnapshot: "true"}
	s.Spec.OverrideSpec = placementv1.ClusterResourceOverrideSpec{
		ClusterResourceSelectors: []placementv1.ClusterResourceSelector{{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: name}},
		Policy:                   &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{{ClusterSelector: &placementv1.ClusterSelector{}}}},
	}
	s.OwnerReferences = ownedBy(placementv1.KindClusterResourceOverride, w.override)
	w.stored = append(w.stored, s)
	return w
}

// Where the definitions are not updated yet, the hub drops what overrides see of a member
// with each write. That is tried again, and told to nobody: what it would have done anew
// ends in an event of the same placement.
func TestC70ADefinitionThatLacksWhatOverridesSee(t *testing.T) {
	w := overridingRole("reader")
	w.former = true
	handle := func() []event.Event {
		e, err := events.New("reporter", event.New(), events.PlacementReported, events.Data{Placement: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(out, func(e event.Event) bool { return e.Type() != events.PlacementBound })
	}
	if first, second := handle(), handle(); len(first) != 1 || len(second) != 0 {
		t.Errorf("bound is told %d times, and then %d times, want once", len(first), len(second))
	}
	w.former = false
	if out := handle(); len(out) != 1 || w.bindings[0].Spec.OverriddenFor == nil {
		t.Errorf("bound is told %d times, want once; the binding says %+v", len(out), w.bindings[0].Spec.OverriddenFor)
	}
}

// An override of what is in an envelope is given to the members that it is for.
func TestC91AnOverrideOfWhatIsInAnEnvelope(t *testing.T) {
	for name, want := range map[string][]string{"reader": {"o-0"}, "another": nil} {
		t.Run(name, func(t *testing.T) {
			w := overridingRole(name)
			e, err := events.New("scheduler", event.New(), events.PlacementScheduled, events.Data{Placement: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if got := w.bindings[0].Spec.ClusterResourceOverrideSnapshots; !slices.Equal(got, want) {
				t.Errorf("the binding names %q, want %q", got, want)
			}
		})
	}
}

// Snapshots of an override that somebody deletes or relabels are made again, or labelled
// again, before they are needed: members keep what the override says.
func TestZ6SnapshotsOfAnOverrideThatAreMissing(t *testing.T) {
	for name, harm := range map[string]func(*overriding){
		"deleted":    func(w *overriding) { w.stored = nil },
		"relabelled": func(w *overriding) { w.stored[0].Labels[placementv1.LabelIsLatestSnapshot] = "false" },
	} {
		t.Run(name, func(t *testing.T) {
			w := &overriding{world: newWorld("a"), override: &placementv1.ClusterResourceOverride{ObjectMeta: metav1.ObjectMeta{Name: "o", UID: "u"}}}
			w.override.Spec = placementv1.ClusterResourceOverrideSpec{
				ClusterResourceSelectors: []placementv1.ClusterResourceSelector{{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "reader"}},
			}
			w.edit(t, 1)
			w.override.Spec.Policy.OverrideRules[0].ClusterSelector = &placementv1.ClusterSelector{}
			w.schedule(t)
			if got := len(w.bindings[0].Spec.ClusterResourceOverrideSnapshots); got != 1 {
				t.Fatalf("the binding names %d snapshots, want 1", got)
			}
			harm(w)
			w.schedule(t)
			names := w.bindings[0].Spec.ClusterResourceOverrideSnapshots
			if len(names) != 1 || !slices.ContainsFunc(w.stored, func(s *placementv1.ClusterResourceOverrideSnapshot) bool { return s.Name == names[0] }) {
				t.Errorf("the binding names %q, and %d snapshots are stored", names, len(w.stored))
			}
		})
	}
}

// schedule has the stage plan once more.
func (w *overriding) schedule(t *testing.T) {
	t.Helper()
	if _, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), scheduled(t)); err != nil {
		t.Fatal(err)
	}
}

// scheduled is the event that has the stage plan.
func scheduled(t *testing.T) event.Event {
	t.Helper()
	e, err := events.New("scheduler", event.New(), events.PlacementScheduled, events.Data{Placement: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
