// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/test/pipelinetest"
)

var (
	room  = propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}
	pages = propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "pages"}
)

func says(objects ...propagation.TemplateKey) (out []workv1alpha1.Manifest) {
	for _, o := range objects {
		raw := `{"apiVersion":"` + o.APIVersion + `","kind":"` + o.Kind + `","metadata":{"namespace":"` + o.Namespace + `","name":"` + o.Name + `"}}`
		out = append(out, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(strings.Replace(raw, `"namespace":"",`, "", 1))}})
	}
	return out
}

// newRoom is a placement that has a namespace in its first Work, and what is in it in the
// second or, together, in the first, applied both.
func newRoom(t *testing.T, together bool) *distant {
	t.Helper()
	d := newDistant(t, 0, 0)
	parts := map[string][]workv1alpha1.Manifest{"shop-work": says(room), "shop-0": says(pages)}
	if together {
		parts = map[string][]workv1alpha1.Manifest{"shop-work": says(room, pages)}
	}
	w := *d.work()
	w.Spec.Workload.Manifests = parts["shop-work"]
	_, err := d.hub.CommitWork(t.Context(), d.work(), &w)
	d.must(err)
	if !together {
		second := propagation.Work{Key: d.key, Labels: w.Labels, Finalizers: w.Finalizers}
		second.Key.Name, second.Spec.Workload.Manifests = "shop-0", parts["shop-0"]
		_, err = d.hub.CommitWork(t.Context(), nil, &second)
		d.must(err)
	}
	for name := range parts {
		if got := typesOf(d.handle(d.of(name, events.WorkRendered), 2*time.Minute)); !slices.Equal(got, []string{events.WorkApplied}) {
			t.Fatalf("%s ends with %v", name, got)
		}
	}
	return d
}

// end has the placement deleted, and all its Works.
func (d *distant) end() {
	d.t.Helper()
	d.leave()
	for _, w := range d.hub.LiveWorks() {
		if w.Placement() != "" && !w.Deleting {
			d.must(d.hub.DeleteWork(d.t.Context(), w))
		}
	}
}

// wanted has a policy want the object in the member.
func (d *distant) wanted(object propagation.TemplateKey) {
	d.t.Helper()
	key := propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(object))[0]}
	d.must(d.hub.EnsureNamespace(d.t.Context(), key.Namespace()))
	b := propagation.BindingOf(object)
	template, err := json.Marshal(object)
	d.must(err)
	w := &propagation.Work{Key: key, Annotations: map[string]string{
		propagation.AnnotationTemplate: string(template), propagation.AnnotationBindingNamespace: b.Namespace, propagation.AnnotationBindingName: b.Name,
	}}
	w.Spec.Workload.Manifests = says(object)
	_, err = d.hub.CommitWork(d.t.Context(), nil, w)
	d.must(err)
}

// seeOff has a Work seen off, as a sweep would, and what follows from that for others of
// the placement.
func (d *distant) seeOff(name string) []string {
	d.t.Helper()
	var ended []string
	for queue := []event.Event{d.of(name, events.WorkRemoved)}; len(queue) > 0; queue = queue[1:] {
		for _, e := range d.handle(queue[0], 2*time.Minute) {
			ended = append(ended, e.Type())
			if e.Type() == events.WorkRemoved {
				queue = append(queue, e)
			}
		}
	}
	return ended
}

// A namespace leaves a member behind what its placement has in it, whichever Work comes
// first, and what of it another wants is not lost with it.
func TestC102Y9ANamespaceLeavesBehindWhatIsInIt(t *testing.T) {
	for name, tc := range map[string]struct {
		order  []string
		wanted bool
		// gone are whether the namespace and its content are at last.
		roomGone, pagesGone bool
	}{
		"its Work comes first":                          {order: []string{"shop-work", "shop-0"}, roomGone: true, pagesGone: true},
		"its Work comes last":                           {order: []string{"shop-0", "shop-work"}, roomGone: true, pagesGone: true},
		"a policy wants the content":                    {order: []string{"shop-work", "shop-0"}, wanted: true},
		"a policy wants the content, which comes first": {order: []string{"shop-0", "shop-work"}, wanted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRoom(t, false)
				before := d.uids()
				if tc.wanted {
					d.wanted(pages)
				}
				d.end()
				d.seeOff(tc.order[0])
				if d.m.Object(room) == nil && d.m.Object(pages) != nil {
					t.Fatal("the namespace left before what is in it")
				}
				d.seeOff(tc.order[1])
				for range 10 { // sweeps
					if d.hub.LiveWork(d.key) != nil {
						d.seeOff("shop-work")
					}
					time.Sleep(2 * time.Second)
				}
				if d.hub.LiveWork(d.key) != nil {
					t.Error("the placement does not end")
				}
				if gone := d.m.Object(room) == nil; gone != tc.roomGone {
					t.Errorf("the namespace is gone: %t", gone)
				}
				if gone := d.m.Object(pages) == nil; gone != tc.pagesGone {
					t.Errorf("what is in it is gone: %t", gone)
				}
				if o := d.m.Object(pages); o != nil && o.UID != before["pages"] {
					t.Error("what is in it was made anew")
				}
			})
		})
	}
}

// The order of Works costs no wait for a sweep.
func TestC102WhoIsThroughTellsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRoom(t, false)
		d.end()
		if got := d.seeOff("shop-work"); !slices.Equal(got, []string{events.WorkFailed}) {
			t.Errorf("the first ends with %v", got)
		}
		if got := d.seeOff("shop-0"); !slices.Equal(got, []string{events.WorkRemoved, events.WorkDeleted, events.WorkDeleted}) {
			t.Errorf("the second ends with %v", got)
		}
		if left := d.m.Objects(); len(left) > 0 {
			t.Errorf("%d objects are left", len(left))
		}
	})
}

// Where it cannot be told who else wants what is in a namespace, that stays, and with it the
// namespace.
func TestZ12ANamespaceStaysWithWhatCannotBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRoom(t, true)
		d.end()
		policys := "get " + propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(pages))[0]}.String()
		answer := apierrors.NewForbidden(schema.GroupResource{Resource: "works"}, "x", errors.New("no"))
		d.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
			if r.String() == policys {
				return answer
			}
			return nil
		}
		for range 10 {
			d.seeOff("shop-work")
			time.Sleep(2 * time.Second)
		}
		if d.m.Object(room) == nil || d.m.Object(pages) == nil || d.hub.LiveWork(d.key) == nil {
			t.Error("something left")
		}
		d.hub.Ask = nil
		d.seeOff("shop-work")
		if left := d.m.Objects(); len(left) > 0 || d.hub.LiveWork(d.key) != nil {
			t.Errorf("%d objects are left", len(left))
		}
	})
}

// What a Work that is gone, or that does not record it, has left in a namespace holds that
// as anybody's does, and no placement for ever.
func TestC102WhatNobodyTakesOutHoldsNoPlacementForEver(t *testing.T) {
	for name, work := range map[string]string{"of a Work that is gone": "shop-7", "of its own, which does not record it": "shop-work"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRoom(t, true)
				orphan := propagation.Work{Key: d.key}
				orphan.Key.Name = work
				_, err := d.m.Write(t.Context(), &orphan, "", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "orphan"}}, nil)
				d.must(err)
				d.end()
				d.seeOff("shop-work")
				if d.m.Object(room) == nil || d.m.Object(pages) != nil || d.hub.LiveWork(d.key) == nil {
					t.Error("it is not held")
				}
				for range 10 {
					if time.Sleep(2 * time.Second); d.hub.LiveWork(d.key) != nil {
						d.seeOff("shop-work")
					}
				}
				if d.hub.LiveWork(d.key) != nil || d.m.Object(room) == nil {
					t.Error("the placement does not end, or took the namespace along")
				}
			})
		})
	}
}

// drop has the placement not give what is in the namespace any more.
func (d *distant) drop() {
	d.t.Helper()
	w := d.work()
	next := *w
	next.Spec.Workload.Manifests = says(room)
	_, err := d.hub.CommitWork(d.t.Context(), w, &next)
	d.must(err)
	d.bind("shop-0-snapshot")
	d.hub.Put(snapshotOf(next.Spec.Workload.Manifests))
}

// bind has the placement give its member a snapshot.
func (d *distant) bind(snapshot string) {
	b := &placementv1.ClusterResourceBinding{}
	b.Name, b.Labels = "shop-m1", map[string]string{placementv1.LabelParentCRP: "shop"}
	b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, TargetCluster: "m1", ResourceSnapshotName: snapshot}
	d.hub.Put(b)
}

// leftOut has the placement leave the member out.
func (d *distant) leftOut() {
	p := d.hub.LivePlacement("shop")
	policy := &placementv1.ClusterSchedulingPolicySnapshot{}
	policy.Name, policy.Annotations = "shop-0", map[string]string{placementv1.AnnotationCRPGeneration: fmt.Sprint(p.Generation)}
	policy.Labels = map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelIsLatestSnapshot: "true", placementv1.LabelPolicyIndex: "0"}
	policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
	policy.Status.ObservedCRPGeneration = p.Generation
	policy.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: "True", ObservedGeneration: 1}}
	policy.Status.ClusterDecisions = []placementv1.ClusterDecision{{ClusterName: "m2", Selected: true, Reason: "picked by scheduling policy"}}
	d.hub.Put(policy)
}

// What a placement does not give any more, and of which it cannot be told who else wants
// it, stays, says why, and is looked at again.
func TestC15Y9WhatStaysSaysWhyAndIsLookedAtAgain(t *testing.T) {
	object := schema.GroupResource{Resource: "works"}
	for name, tc := range map[string]struct {
		answer error
		said   string // empty: the event is tried again
	}{
		"the hub may not be asked":   {answer: apierrors.NewForbidden(object, "x", errors.New("no")), said: "whether another Work wants it cannot be told: Forbidden"},
		"the hub has too much to do": {answer: apierrors.NewTooManyRequests("later", 1)},
		"the hub fails":              {answer: apierrors.NewInternalError(errors.New("no"))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRoom(t, true)
				d.drop()
				d.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
					if strings.HasPrefix(r.String(), "list heads of works") {
						return tc.answer
					}
					return nil
				}
				_, err := d.stage.Handle(t.Context(), d.of("shop-work", events.WorkRendered))
				if tc.said == "" && err == nil {
					t.Error("it is not tried again")
				}
				if tc.said != "" {
					d.must(err)
					r := d.work().Results[1]
					if _, message := telling.Stays(r); message != tc.said || r.Identifier.Name != pages.Name {
						t.Errorf("of %s it says %q", r.Identifier.Name, message)
					}
					if got := sweeping.StateOf(d.work(), time.Now()); got != sweeping.Failing {
						t.Errorf("its state is %d", got)
					}
					version := d.work().ResourceVersion
					d.handle(d.of("shop-work", events.WorkRendered), 2*time.Minute)
					if d.work().ResourceVersion != version {
						t.Error("the same was written again")
					}
				}
				if d.m.Object(pages) == nil {
					t.Error("it has left")
				}
				d.hub.Ask = nil
				d.handle(d.of("shop-work", events.WorkRendered), 2*time.Minute)
				if d.m.Object(pages) != nil || sweeping.StateOf(d.work(), time.Now()) != sweeping.Finished {
					t.Error("it does not leave, or its Work does not end")
				}
			})
		})
	}
}

// A member that cannot answer what a namespace holds has not said that others are in it,
// however long ago the Work was deleted.
func TestC102AMemberThatCannotAnswerHasSaidNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRoom(t, true)
		d.end()
		d.m.Ask = func(_ context.Context, r pipelinetest.Request) error {
			if r.Verb == "list" {
				return errors.New("later")
			}
			return nil
		}
		for range 10 {
			d.seeOff("shop-work")
			time.Sleep(2 * time.Second)
		}
		if d.hub.LiveWork(d.key) == nil || d.m.Object(room) == nil {
			t.Fatal("the namespace was let go")
		}
		if got := d.says(); got != "False ClusterUnreachable" {
			t.Errorf("the Work says %s", got)
		}
		d.m.Ask = nil
		d.seeOff("shop-work")
		if left := d.m.Objects(); len(left) > 0 || d.hub.LiveWork(d.key) != nil {
			t.Errorf("%d objects are left", len(left))
		}
	})
}

// What people say while a Work is seen off holds for all of it that has not left yet: a
// suspension, and that the placement stays after all.
func TestWhatIsSaidWhileAWorkIsSeenOffHolds(t *testing.T) {
	for name, change := range map[string]func(d *distant, p *placementv1.ClusterResourcePlacement){
		"it is suspended": func(_ *distant, p *placementv1.ClusterResourcePlacement) {
			p.Annotations = map[string]string{propagation.AnnotationSuspended: "m1"}
		},
		"the member is picked again": func(d *distant, _ *placementv1.ClusterResourcePlacement) {
			d.bind("shop-0-snapshot")
			d.hub.Put(snapshotOf(d.work().Spec.Workload.Manifests))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 40, 0)
				d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
				d.leftOut()
				d.must(d.hub.DeleteWork(t.Context(), d.work()))
				d.far.away = 300 * time.Millisecond
				p := d.p.DeepCopy()
				changed := time.AfterFunc(2*time.Second, func() {
					change(d, p)
					d.hub.Put(p)
				})
				defer changed.Stop()
				d.handle(d.first(events.WorkRemoved, ""), 2*time.Minute)
				left := len(d.m.Objects())
				if left < 20 || left > 36 {
					reason, message := telling.Stays(d.work().Results[0])
					t.Errorf("%d of 40 objects are left: %s %s", left, reason, message)
				}
			})
		})
	}
}

// A member falls silent while it gets a Work for the first time, and the placement is
// deleted before it answers again: what it got leaves, also what it never said that it had.
func TestC102WhatAMemberGotBeforeItFellSilentLeaves(t *testing.T) {
	for name, suspended := range map[string]bool{"it falls silent": false, "it is suspended in the midst": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 40, 300*time.Millisecond)
				var applied atomic.Int32
				var silent atomic.Bool
				d.m.Lost = func(context.Context, pipelinetest.Request) bool {
					if applied.Add(1) < 25 {
						return false
					}
					if suspended {
						p := d.p.DeepCopy()
						p.Annotations = map[string]string{propagation.AnnotationSuspended: "m1"}
						d.hub.Put(p)
						return false
					}
					silent.Store(true)
					return true
				}
				d.m.Ask = func(context.Context, pipelinetest.Request) error {
					if silent.Load() {
						return errors.New("no answer")
					}
					return nil
				}
				d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
				if has := len(d.m.Objects()); has < 20 || has == 40 {
					t.Fatalf("the member got %d objects", has)
				}
				silent.Store(false)
				d.m.Lost = nil
				d.leave()
				if ended, _ := d.through(d.first(events.WorkRemoved, ""), nil); !slices.Equal(ended, []string{events.WorkDeleted}) {
					t.Errorf("it ends with %v", ended)
				}
				if left := len(d.m.Objects()); left > 0 {
					t.Errorf("%d objects are left", left)
				}
			})
		})
	}
}

// What stays for a while is not asked for again before the rest has had its turn.
func TestC102WhatGoesOnGoesOnBehindWhatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, stuck = 120, 80
		d := newDistant(t, many, 0)
		d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
		d.leave()
		policys := map[string]bool{}
		for i := range stuck {
			key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("o-%03d", many-1-i)}
			policys["get "+propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(key))[0]}.String()] = true
		}
		d.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
			if policys[r.String()] {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "works"}, "x", errors.New("no"))
			}
			return nil
		}
		d.far.away, d.far.requested = 5*time.Second, nil
		if ended, _ := d.through(d.first(events.WorkRemoved, ""), nil); !slices.Equal(ended, []string{events.WorkFailed}) {
			t.Errorf("it ends with %v", ended)
		}
		if left := len(d.m.Objects()); left != stuck {
			t.Errorf("%d objects are left, want %d", left, stuck)
		}
		d.once("get", many)
	})
}
