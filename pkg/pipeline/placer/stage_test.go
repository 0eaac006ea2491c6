// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/placer"
)

// fataler is a test, or one of its random cases.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func object(kind, namespace, name, value string) map[string]any {
	apiVersion := map[string]string{"Widget": "example.com/v1", "ClusterRole": "rbac.authorization.k8s.io/v1"}[kind]
	if apiVersion == "" {
		apiVersion = "v1"
	}
	meta := map[string]any{"name": name, "uid": "of " + name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	if value != "" {
		obj["data"] = map[string]any{"value": value}
	}
	return obj
}

// put makes or changes an object, and tells the stage of it.
func (w *world) put(t fataler, obj map[string]any) {
	t.Helper()
	key := keyOf(obj)
	w.objects[key.ID()] = obj
	w.tell(t, events.ResourceUpdated, key)
}

func (w *world) remove(t fataler, key propagation.TemplateKey) {
	t.Helper()
	delete(w.objects, key.ID())
	w.tell(t, events.ResourceDeleted, key)
}

func (w *world) tell(t fataler, eventType string, key propagation.TemplateKey) {
	t.Helper()
	e, err := events.NewResource("/test", eventType, events.Object{TemplateKey: key, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.handle(e); err != nil {
		t.Fatal(err)
	}
}

// handle is what the runner does: a lost race is read again.
func (w *world) handle(e event.Event) (out []event.Event, err error) {
	stage := placer.New(w, w, nil, func() time.Time { return w.now })
	for range 5 {
		if out, err = stage.Handle(context.Background(), e); !outcome.IsConflict(err) {
			break
		}
	}
	return out, err
}

// touch has the placement looked at, and is the types of what is emitted.
func (w *world) touch(t fataler) []string {
	t.Helper()
	out, err := w.handle(touched(t))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range out {
		types = append(types, strings.TrimPrefix(e.Type(), "dev.sluice."))
	}
	return types
}

func touched(t fataler) event.Event {
	cause := event.New()
	cause.SetID("cause")
	e, err := events.New("test", cause, events.PlacementTouched, events.Data{Placement: "crp"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tick lets time pass, and carries out what is due.
func (w *world) tick(t fataler, d time.Duration) (due bool) {
	t.Helper()
	w.now = w.now.Add(d)
	e := event.New()
	e.SetID(w.now.String())
	e.SetType(events.Ping)
	e.SetSource("/test")
	out, err := w.handle(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		due = true
		if _, err := w.handle(o); err != nil {
			t.Fatal(err)
		}
	}
	return due
}

func (w *world) place(selectors ...placementv1.ClusterResourceSelector) {
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp", Generation: 1}}
	p.Spec.ResourceSelectors = selectors
	w.stamp(&p.ObjectMeta)
	w.placements["crp"] = p
}

func named(kind, name string) placementv1.ClusterResourceSelector {
	s := placementv1.ClusterResourceSelector{Version: "v1", Kind: kind, Name: name}
	if kind == "ClusterRole" {
		s.Group = "rbac.authorization.k8s.io"
	}
	return s
}

// shop is a world with a namespace of two objects that a placement selects.
func shop(t fataler) *world {
	w := newWorld()
	for _, obj := range []map[string]any{
		object("Namespace", "", "shop", ""), object("ConfigMap", "shop", "a", "1"), object("Secret", "shop", "s", "1"), object("ConfigMap", "bank", "b", "1"),
	} {
		w.objects[keyOf(obj).ID()] = obj
	}
	w.place(named("Namespace", "shop"))
	if got := w.touch(t); !slices.Equal(got, []string{"placement.snapshotted"}) {
		t.Errorf("emitted %v", got)
	}
	return w
}

func (w *world) want(t fataler, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, w.holds()); d != "" {
		t.Errorf("snapshots (-want +got)\n%s", d)
	}
}

const first = "crp-0-snapshot latest, Namespace shop, Secret shop/s 1, ConfigMap shop/a 1"

func TestTheFirstSnapshotComesAtOnce(t *testing.T) {
	w := shop(t)
	w.want(t, first)
	want := []string{"placement crp", "policy crp-0", "create crp-0-snapshot"}
	if d := cmp.Diff(want, w.writes); d != "" {
		t.Errorf("writes (-want +got)\n%s", d)
	}
	s := w.resources["crp-0-snapshot"]
	if o := metav1.GetControllerOf(s); o == nil || o.UID != w.placements["crp"].UID {
		t.Errorf("C29: owned by %v", s.OwnerReferences)
	}
	if d := cmp.Diff([]string{"kubernetes-fleet.io/crp-cleanup", "kubernetes-fleet.io/scheduler-cleanup"}, w.placements["crp"].Finalizers); d != "" {
		t.Errorf("C102: finalizers (-want +got)\n%s", d)
	}
	w.writes = nil
	for range 3 { // whatever is told again, a restart included
		w.touch(t)
		w.states = map[string]*state{}
		w.tick(t, time.Hour)
	}
	if len(w.writes) > 0 {
		t.Errorf("C22: writes where nothing changed: %v", w.writes)
	}
}

func TestC30ChangesAreCollected(t *testing.T) {
	w := shop(t)
	w.put(t, object("ConfigMap", "shop", "a", "2"))
	w.put(t, object("ConfigMap", "shop", "new", "1"))
	w.put(t, object("ConfigMap", "bank", "b", "2"))
	if w.tick(t, 29*time.Second) {
		t.Error("30 s have not passed since the first snapshot")
	}
	w.reads = nil
	if !w.tick(t, time.Second) {
		t.Error("nothing is due")
	}
	w.want(t, strings.Replace(first, " latest", "", 1), "crp-1-snapshot latest, Namespace shop, Secret shop/s 1, ConfigMap shop/a 2, ConfigMap shop/new 1")
	want := []string{"snapshot crp-0-snapshot", "get ConfigMap shop/a", "get ConfigMap shop/new"}
	if d := cmp.Diff(want, w.reads); d != "" {
		t.Errorf("a change costs these reads (-want +got)\n%s", d)
	}
	w.now = w.now.Add(time.Hour)
	w.put(t, object("ConfigMap", "shop", "a", "3"))
	if w.tick(t, 14*time.Second) {
		t.Error("changes are collected for 15 s")
	}
	if !w.tick(t, time.Second) {
		t.Error("nothing is due")
	}
}

// The sweeper tells placements alone of what changed where no source looks.
func TestC7WhatTheSweeperFoundIsCollectedToo(t *testing.T) {
	w := shop(t)
	changed := object("ConfigMap", "shop", "a", "2")
	key := keyOf(changed)
	w.objects[key.ID()] = changed // and no source tells
	if w.tick(t, time.Hour) {
		t.Error("something is due of which nobody told")
	}
	cause := event.New()
	cause.SetID("cause")
	e, err := events.New("sweeper", cause, events.PlacementTouched, events.Data{Placement: "crp", Template: &key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.handle(e); err != nil {
		t.Fatal(err)
	}
	if w.tick(t, 14*time.Second) {
		t.Error("changes are collected for 15 s")
	}
	if !w.tick(t, time.Second) {
		t.Error("nothing is due")
	}
	w.want(t, strings.Replace(first, " latest", "", 1), "crp-1-snapshot latest, Namespace shop, Secret shop/s 1, ConfigMap shop/a 2")
}

func TestAChangeOfTheSelectorsActsAtOnce(t *testing.T) {
	w := shop(t)
	w.objects[keyOf(object("Namespace", "", "bank", "")).ID()] = object("Namespace", "", "bank", "")
	w.placements["crp"].Spec.ResourceSelectors = append(w.placements["crp"].Spec.ResourceSelectors, named("Namespace", "bank"))
	w.touch(t)
	w.want(t, strings.Replace(first, " latest", "", 1), "crp-1-snapshot latest, Namespace bank, Namespace shop, Secret shop/s 1, ConfigMap bank/b 1, ConfigMap shop/a 1")
}

func TestWhatGoesLeavesTheNextSnapshot(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"C15: an object": {func(w *world) { w.remove(t, keyOf(object("ConfigMap", "shop", "a", ""))) }, "crp-1-snapshot latest, Namespace shop, Secret shop/s 1"},
		"C15: an object that waits for its finalizers": {func(w *world) {
			obj := object("ConfigMap", "shop", "a", "1")
			obj["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-23T12:00:00Z"
			w.put(t, obj)
		}, "crp-1-snapshot latest, Namespace shop, Secret shop/s 1"},
		"C16: a namespace": {func(w *world) { w.remove(t, placing.NamespaceKey("shop")) }, "crp-1-snapshot latest"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			tc.change(w)
			w.tick(t, time.Minute)
			w.want(t, strings.Replace(first, " latest", "", 1), tc.want)
			told := slices.ContainsFunc(w.told, func(s string) bool { return strings.HasPrefix(s, "NothingSelected: ") })
			if empty := strings.HasSuffix(tc.want, "-snapshot latest"); told != empty {
				t.Errorf("it is told that nothing is selected: %t; told %q", told, w.told)
			}
		})
	}
}

func TestWhatNobodyCanTellOfStays(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a kind that is not served any more": func(w *world) {
			w.dark["ConfigMap"] = true
			delete(w.objects, keyOf(object("ConfigMap", "shop", "a", "")).ID())
		},
		"and what changed of it": func(w *world) {
			w.dark["ConfigMap"] = true
			w.tell(t, events.ResourceDeleted, keyOf(object("ConfigMap", "shop", "a", "")))
		},
		"namespaces": func(w *world) {
			w.dark["Namespace"] = true
			w.tell(t, events.ResourceDeleted, placing.NamespaceKey("shop"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			change(w)
			w.tick(t, time.Minute)
			w.states = map[string]*state{} // all is read afresh
			w.tick(t, time.Minute)
			w.want(t, first)
		})
	}
}

func TestAKindThatIsServedLater(t *testing.T) {
	w := shop(t)
	w.dark["Widget"] = true
	w.tick(t, time.Minute)
	w.objects[keyOf(object("Widget", "shop", "w", "")).ID()] = object("Widget", "shop", "w", "1")
	delete(w.dark, "Widget")
	if !w.tick(t, time.Second) {
		t.Error("nothing is due")
	}
	w.want(t, strings.Replace(first, " latest", "", 1), "crp-1-snapshot latest, Namespace shop, Secret shop/s 1, ConfigMap shop/a 1, Widget shop/w 1")
}

func TestAnObjectThatNoSnapshotTakesIsNamed(t *testing.T) {
	w := shop(t)
	w.fails = func(what string) error {
		if strings.HasPrefix(what, "create") {
			return errors.New("request is too large")
		}
		return nil
	}
	w.put(t, object("ConfigMap", "shop", "huge", strings.Repeat("x", 1400<<10)))
	w.tick(t, time.Minute)
	c := w.placements["crp"].Status.Conditions
	if len(c) != 1 || !strings.Contains(c[0].Message, "ConfigMap shop/huge has") {
		t.Errorf("conditions %v", c)
	}
	w.fails = nil
	w.remove(t, keyOf(object("ConfigMap", "shop", "huge", "")))
	w.tick(t, time.Minute)
	w.want(t, first)
	if placing.Refused(w.placements["crp"]) {
		t.Error("it is refused yet")
	}
}

func TestASnapshotThatWasDeletedByHandIsMadeAgain(t *testing.T) {
	w := shop(t)
	w.placements["crp"].Status.ObservedResourceIndex = "0"
	delete(w.resources, "crp-0-snapshot")
	e, err := events.NewResource("/test", events.ResourceDeleted, events.Object{TemplateKey: propagation.TemplateKey{
		APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ClusterResourceSnapshot", Name: "crp-0-snapshot",
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.handle(e)
	if err != nil || len(out) != 1 {
		t.Fatalf("%v, %v", out, err)
	}
	if _, err := w.handle(out[0]); err != nil {
		t.Fatal(err)
	}
	w.want(t, strings.Replace(first, "crp-0", "crp-1", 1))
}

func TestC29DeletionGoesInOrder(t *testing.T) {
	w := shop(t)
	now := metav1.NewTime(w.now)
	w.placements["crp"].DeletionTimestamp = &now
	w.bindings = []*placementv1.ClusterResourceBinding{{}}
	if got := w.touch(t); !slices.Equal(got, []string{"placement.snapshotted"}) || len(w.resources) != 1 {
		t.Errorf("with a binding: emitted %v, %d snapshots", got, len(w.resources))
	}
	w.bindings = nil
	w.tick(t, time.Second)
	if len(w.resources)+len(w.policies)+len(w.states) > 0 {
		t.Errorf("%v and %v are left", w.resources, w.policies)
	}
	if p := w.placements["crp"]; p != nil {
		t.Errorf("held by %v", p.Finalizers)
	}
}

// Whatever fails at whatever moment: what comes after finds the way.
func TestEachWriteMayBeTheLast(t *testing.T) {
	for n := range 8 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld()
			for i := range 3 {
				obj := object("ConfigMap", "shop", fmt.Sprint(i), strings.Repeat("x", 500<<10))
				w.objects[keyOf(obj).ID()] = obj
			}
			ns := object("Namespace", "", "shop", "")
			w.objects[keyOf(ns).ID()] = ns
			w.place(named("Namespace", "shop"))
			left := n
			w.fails = func(string) error {
				if left--; left < 0 {
					return errors.New("the connection is gone")
				}
				return nil
			}
			_, _ = w.handle(touched(t))
			w.fails = nil
			w.touch(t)
			if got := slices.Sorted(maps.Keys(w.resources)); !slices.Equal(got, []string{"crp-0-0", "crp-0-1", "crp-0-snapshot"}) {
				t.Errorf("snapshots %v", got)
			}
		})
	}
}

// What is amended object by object is what selecting afresh finds.
func TestAmendingIsSelecting(t *testing.T) {
	kinds := []string{"ConfigMap", "Secret", "Widget", "Pod"}
	names := []string{"a", "b", "c"}
	namespaces := []string{"one", "two", "kube-system"}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		labelled := placementv1.ClusterResourceSelector{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"placed": "true"}}}
		w.place(labelled, placementv1.ClusterResourceSelector{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", LabelSelector: labelled.LabelSelector})
		w.touch(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			var obj map[string]any
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				obj = object("Namespace", "", rapid.SampledFrom(namespaces).Draw(t, "namespace"), "")
			case 1:
				obj = object("ClusterRole", "", rapid.SampledFrom(names).Draw(t, "name"), "")
			default:
				obj = object(rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.SampledFrom(namespaces).Draw(t, "in"), rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value"))
			}
			if rapid.Bool().Draw(t, "labelled") {
				obj["metadata"].(map[string]any)["labels"] = map[string]any{"placed": "true"}
			}
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				w.remove(t, keyOf(obj))
			} else {
				w.put(t, obj)
			}
			if rapid.IntRange(0, 2).Draw(t, "time") == 0 {
				w.tick(t, time.Minute)
			}
		}
		w.tick(t, time.Minute)
		amended := latest(w)
		w.resources, w.states = map[string]*placementv1.ClusterResourceSnapshot{}, map[string]*state{}
		w.touch(t)
		if d := cmp.Diff(latest(w), amended); d != "" {
			t.Errorf("-selected +amended\n%s", d)
		}
	})
}

// latest is what the latest snapshot holds.
func latest(w *world) string {
	for _, line := range w.holds() {
		if name, objects, ok := strings.Cut(line, " latest"); ok && name != "" {
			return objects
		}
	}
	return "none"
}
