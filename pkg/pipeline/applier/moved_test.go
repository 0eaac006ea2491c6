// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/types"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// uids are those of the member's objects, by name.
func (d *distant) uids() map[string]types.UID {
	all := map[string]types.UID{}
	for _, o := range d.m.Objects() {
		all[o.Ref.Name] = o.UID
	}
	return all
}

// of is an event about another Work of the placement.
func (d *distant) of(name, eventType string) event.Event {
	d.t.Helper()
	template, key := propagation.PlacementKey("shop"), d.key
	key.Name = name
	e, err := events.New("test", event.New(), eventType, events.Data{Template: &template, Placement: "shop", Work: &key, Cluster: "m1"})
	d.must(err)
	return e
}

// split moves the last manifests of the Work to another, as the renderer does where a
// snapshot has another part.
func (d *distant) split(keep int) {
	d.t.Helper()
	w := d.work()
	next := *w
	next.Spec.Workload.Manifests = slices.Clone(w.Spec.Workload.Manifests[:keep])
	second := propagation.Work{Key: w.Key, Labels: w.Labels, Finalizers: w.Finalizers}
	second.Key.Name = "shop-0"
	second.Spec.Workload.Manifests = slices.Clone(w.Spec.Workload.Manifests[keep:])
	_, err := d.hub.CommitWork(d.t.Context(), w, &next)
	d.must(err)
	_, err = d.hub.CommitWork(d.t.Context(), nil, &second)
	d.must(err)
	b := &placementv1.ClusterResourceBinding{}
	b.Name, b.Labels = "shop-m1", map[string]string{placementv1.LabelParentCRP: "shop"}
	b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, TargetCluster: "m1", ResourceSnapshotName: "shop-0-snapshot"}
	d.hub.Put(b)
	first, rest := snapshotOf(next.Spec.Workload.Manifests), snapshotOf(second.Spec.Workload.Manifests)
	first.Annotations[placementv1.AnnotationNumberOfResourceSnapshots] = "2"
	rest.Name, rest.Annotations = "shop-0-0", map[string]string{placementv1.AnnotationSubindex: "0"}
	d.hub.Put(first)
	d.hub.Put(rest)
}

// An object that another part of the snapshot has from now on is that one's, whoever comes
// first: it is neither removed nor fought over.
func TestC15C23AnObjectOfAnotherPart(t *testing.T) {
	for name, order := range map[string][]string{
		"the one that loses it comes first": {"shop-work", "shop-0"},
		"the one that gets it comes first":  {"shop-0", "shop-work"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 20, time.Millisecond)
				d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
				before := d.uids()
				d.split(12)
				for _, w := range order {
					if got := typesOf(d.handle(d.of(w, events.WorkRendered), 2*time.Minute)); !slices.Equal(got, []string{events.WorkApplied}) {
						t.Errorf("%s: it ends with %v", w, got)
					}
				}
				after := d.uids()
				for name, uid := range before {
					if after[name] != uid {
						t.Errorf("%s was %s, and is %q", name, uid, after[name])
					}
				}
				if n := len(d.far.times("delete")); n > 0 {
					t.Errorf("%d objects were deleted", n)
				}
				for _, o := range d.m.Objects() {
					want := propagation.WorkKey{Name: "shop-work", Form: propagation.PlacementForm}.Owner()
					if o.Ref.Name >= "o-012" {
						want = propagation.WorkKey{Name: "shop-0", Form: propagation.PlacementForm}.Owner()
					}
					if o.Work != want {
						t.Errorf("%s is that of %s, want %s", o.Ref.Name, o.Work, want)
					}
				}
				writes := len(d.far.times("apply"))
				for _, w := range order {
					d.handle(d.of(w, events.WorkRendered), 2*time.Minute)
				}
				if n := len(d.far.times("apply")); n != writes {
					t.Errorf("%d writes where nothing changed", n-writes)
				}
			})
		})
	}
}

// What two Works of a placement say both is the first one's.
func TestC75AnObjectThatTwoPartsSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, 4, time.Millisecond)
		d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
		d.once("apply", 4)
		second := propagation.Work{Key: d.key, Labels: d.work().Labels, Finalizers: d.work().Finalizers, Spec: d.work().Spec}
		second.Key.Name = "shop-0"
		_, err := d.hub.CommitWork(t.Context(), nil, &second)
		d.must(err)
		writes := 0
		d.m.Wrote = func(context.Context, pipelinetest.MemberWrite) { writes++ }
		if got := typesOf(d.handle(d.of("shop-0", events.WorkRendered), 2*time.Minute)); !slices.Equal(got, []string{events.WorkFailed}) || writes > 0 {
			t.Errorf("it ends with %v, after %d writes", got, writes)
		}
	})
}
