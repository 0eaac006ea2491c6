// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest"
)

// about is an event about any Work.
func (d *distant) about(w *propagation.Work, eventType string) event.Event {
	d.t.Helper()
	template, err := w.Template()
	d.must(err)
	data := events.Data{Template: &template, Placement: w.Placement(), Work: &w.Key, Cluster: w.Key.Cluster, Reason: events.ReasonUnfinished}
	if data.Placement == "" {
		data.Binding = new(w.Binding())
	}
	e, err := events.New("test", event.New(), eventType, data)
	d.must(err)
	return e
}

// asks has the placement's Work ask for these objects.
func (d *distant) asks(objects ...propagation.TemplateKey) {
	d.t.Helper()
	w := *d.work()
	w.Spec.Workload.Manifests = says(objects...)
	_, err := d.hub.CommitWork(d.t.Context(), d.work(), &w)
	d.must(err)
}

// another is a placement that wants the objects in the member, too.
func (d *distant) another(objects ...propagation.TemplateKey) *propagation.Work {
	d.t.Helper()
	p := &placementv1.ClusterResourcePlacement{}
	p.Name = "two"
	d.hub.Put(p)
	w := &propagation.Work{
		Key: propagation.WorkKey{Cluster: "m1", Name: "two-work", Form: propagation.PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: "two"},
		Finalizers: []string{propagation.FinalizerWork},
	}
	w.Spec.Workload.Manifests = says(objects...)
	w, err := d.hub.CommitWork(d.t.Context(), nil, w)
	d.must(err)
	return w
}

// contested is what the Work says of others.
func (d *distant) contested(key propagation.WorkKey) string {
	c, is := applying.Contested([]*propagation.Work{d.hub.LiveWork(key)}, 1)
	if !is {
		return ""
	}
	return c.Message
}

// Who has what another wants says so once, and no more when that is over. Where nobody
// wants it, nothing is read or written for that.
func TestC75Y9TheHolderIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		policyHas bool
		says      string
	}{
		"two placements":           {says: "ConfigMap shop/pages is wanted by the placement two, too, in m1"},
		"a policy and a placement": {policyHas: true, says: "ConfigMap shop/pages is wanted by the placement two, too, in m1"},
	} {
		t.Run("C75, Y9: "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 0, 0)
				holder := d.key
				if tc.policyHas {
					d.wanted(pages)
					holder = propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(pages))[0]}
				} else {
					d.asks(room, pages)
				}
				d.handle(d.about(d.hub.LiveWork(holder), events.WorkRendered), 2*time.Minute)
				if said := d.contested(holder); said != "" {
					t.Fatalf("nobody wants it, and it says %q", said)
				}
				writes := 0
				d.hub.Wrote = func(context.Context, pipelinetest.Write) { writes++ }
				two := d.another(pages)
				writes = 0
				out := d.handle(d.about(two, events.WorkRendered), 2*time.Minute)
				if got := typesOf(out); !slices.Contains(got, events.WorkRendered) || !slices.Contains(got, events.WorkFailed) {
					t.Errorf("it ends with %v", got)
				}
				if said := d.contested(holder); said != tc.says {
					t.Errorf("it says %q, want %q", said, tc.says)
				}
				if writes != 2 {
					t.Errorf("%d writes, want one on each Work", writes)
				}
				writes = 0
				for range 2 { // sweeps
					for _, key := range []propagation.WorkKey{two.Key, holder} {
						for _, e := range d.handle(d.about(d.hub.LiveWork(key), events.WorkRendered), 2*time.Minute) {
							if e.Type() == events.WorkRendered {
								t.Error("the holder is told again")
							}
						}
					}
				}
				if writes > 0 {
					t.Errorf("%d writes where nothing changed", writes)
				}
				next := *d.hub.LiveWork(two.Key)
				next.Spec.Workload.Manifests = says()
				_, err := d.hub.CommitWork(t.Context(), d.hub.LiveWork(two.Key), &next)
				d.must(err)
				d.handle(d.about(d.hub.LiveWork(holder), events.WorkRendered), 2*time.Minute)
				if said := d.contested(holder); said != "" {
					t.Errorf("when it is over it says %q", said)
				}
			})
		})
	}
}

// A policy that wants what a placement has is told there.
func TestY9APlacementSaysThatAPolicyWantsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRoom(t, true)
		d.wanted(pages)
		policys := d.hub.LiveWork(propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(pages))[0]})
		d.handle(d.about(policys, events.WorkRendered), 2*time.Minute)
		if said, want := d.contested(d.key), "ConfigMap shop/pages is wanted by the policy of "+propagation.BindingOf(pages).String()+", too, in m1"; said != want {
			t.Errorf("it says %q, want %q", said, want)
		}
	})
}

// An object that is marked as of a Work that is gone, as after its placement was deleted
// and left it behind, is nobody's: the next who wants it may have it.
func TestC75WhatWasLeftBehindIsTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy placementv1.WhenToTakeOverType
		lives    bool
		unserved bool
		takes    bool
		says     string
	}{
		"its Work is gone":                           {takes: true},
		"and nothing is ever taken over":             {strategy: placementv1.WhenToTakeOverTypeNever, says: "NotTakenOver"},
		"its Work is there":                          {lives: true, says: "ApplyConflictBetweenPlacements"},
		"whether its Work is there, nobody can tell": {unserved: true, says: "ApplyConflictBetweenPlacements"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 0, 0)
				two := d.another(pages)
				hub, err := d.hub.Identity(t.Context())
				d.must(err)
				_, err = d.m.Write(t.Context(), two, hub, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "pages", "namespace": "shop"}}, nil)
				d.must(err)
				if !tc.lives {
					d.must(d.hub.ReleaseWork(t.Context(), two))
					d.hub.RemoveWork(two.Key)
				}
				d.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
					if tc.unserved && r.Verb == "get" && strings.Contains(r.About, two.Key.Name) {
						return outcome.ErrNotServed
					}
					return nil
				}
				w := *d.work()
				w.Spec.Workload.Manifests = says(pages)
				if tc.strategy != "" {
					w.Strategy = &placementv1.ApplyStrategy{WhenToTakeOver: tc.strategy}
				}
				_, err = d.hub.CommitWork(t.Context(), d.work(), &w)
				d.must(err)
				d.handle(d.about(d.work(), events.WorkRendered), 2*time.Minute)
				if took := d.m.Object(pages).Work == d.key.Owner(); took != tc.takes {
					t.Errorf("it was taken: %t, want %t", took, tc.takes)
				}
				got := ""
				if c := meta.FindStatusCondition(d.work().Results[0].Conditions, placementv1.ConditionApplied); c != nil && c.Status == metav1.ConditionFalse {
					got = c.Reason
				}
				if got != tc.says {
					t.Errorf("it says %q, want %q", got, tc.says)
				}
			})
		})
	}
}

// A policy that overwrites takes what a placement has. The placement is told before that,
// so that it hears of it even if the process ends right after the write, and its Work is
// looked at again.
func TestC75Y9WhoseObjectIsOverwrittenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, 0, 0)
		d.asks(pages)
		d.handle(d.about(d.work(), events.WorkRendered), 2*time.Minute)
		d.wanted(pages)
		policys := propagation.WorkKey{Cluster: "m1", Name: propagation.WorkNames(propagation.BindingOf(pages))[0]}
		next := *d.hub.LiveWork(policys)
		next.Annotations = maps.Clone(next.Annotations)
		next.Annotations[propagation.AnnotationConflictResolution] = string(policyv1alpha1.ConflictOverwrite)
		_, err := d.hub.CommitWork(t.Context(), d.hub.LiveWork(policys), &next)
		d.must(err)
		out := d.handle(d.about(d.hub.LiveWork(policys), events.WorkRendered), 2*time.Minute)
		if o := d.m.Object(pages); o.Work != policys.Owner() {
			t.Fatalf("it is of %s, and was not taken", o.Work)
		}
		if !slices.Contains(typesOf(out), events.WorkRendered) {
			t.Errorf("it ends with %v, and nobody looks at the placement's Work", typesOf(out))
		}
		if len(d.work().Rivals()) == 0 { // such a Work is announced with each sweep
			t.Error("the placement's Work does not say that another wants what it had")
		}
		d.handle(d.about(d.work(), events.WorkRendered), 2*time.Minute)
		if c := meta.FindStatusCondition(d.work().Results[0].Conditions, placementv1.ConditionApplied); c == nil || c.Reason != "ApplyConflictBetweenPlacements" {
			t.Errorf("the placement's Work says %+v", c)
		}
		if d.contested(policys) == "" {
			t.Error("the policy's Work does not say that another wants what it has")
		}
		if o := d.m.Object(pages); o.Work != policys.Owner() {
			t.Errorf("it is of %s: it is fought over", o.Work)
		}
	})
}
