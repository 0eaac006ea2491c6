// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

var gadgets = schema.GroupKind{Group: "example.com", Kind: "Gadget"}

// made is an object that is created now.
func (w *world) made(kind, namespace, name, value string) map[string]any {
	obj := object(kind, namespace, name, value)
	if kind == gadgets.Kind {
		obj["apiVersion"] = "example.com/v1"
	}
	obj["metadata"].(map[string]any)["creationTimestamp"] = w.now.Format(time.RFC3339)
	return obj
}

// widgets is a shop with two Widgets, an hour after its first snapshot was made.
func widgets(t *testing.T, more ...string) *world {
	w := newWorld()
	w.now = w.now.Add(-time.Hour)
	w.defined["Widget"], w.defined["Gadget"] = w.now, w.now
	w.now = w.now.Add(time.Minute)
	all := []map[string]any{w.made("Namespace", "", "shop", ""), w.made("ConfigMap", "shop", "a", "1"), w.made("Widget", "shop", "w", "1"), w.made("Widget", "shop", "x", "1")}
	for _, name := range more {
		all = append(all, w.made("Widget", "shop", name, "1"))
	}
	for _, obj := range all {
		w.objects[keyOf(obj).ID()] = obj
	}
	w.place(named("Namespace", "shop"))
	w.touch(t)
	w.now = w.now.Add(time.Hour)
	w.writes, w.reads = nil, nil
	return w
}

// anew is the kind's definition replaced by force: its objects are gone. tell: a source
// tells of each.
func (w *world) anew(t *testing.T, kind string, tell bool) {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	for _, id := range slices.Sorted(maps.Keys(w.objects)) {
		key := keyOf(w.objects[id])
		switch {
		case key.Kind != kind:
		case tell:
			w.remove(t, key)
		default:
			delete(w.objects, id)
		}
	}
	w.defined[kind] = w.now
}

const placed = "Namespace shop, ConfigMap shop/a 1, Widget shop/w 1, Widget shop/x 1"

// has checks the latest snapshot.
func (w *world) has(t *testing.T, want string) {
	t.Helper()
	if got := latest(w); got != ", "+want {
		t.Errorf("the latest snapshot has %q, want %q", got, want)
	}
}

func (w *world) quiet(t *testing.T) {
	t.Helper()
	w.writes = nil
	for range 2 {
		w.tick(t, time.Hour)
		w.states = map[string]*state{} // all is read afresh
		w.tick(t, time.Hour)
	}
	if len(w.writes) > 0 {
		t.Errorf("writes where nothing changed: %v", w.writes)
	}
}

// A definition that is deleted and made again takes its objects along: nobody deleted
// them. They stay in each later snapshot, until they are created again.
func TestZ11WhatWentWithItsDefinitionStays(t *testing.T) {
	for name, tc := range map[string]struct{ tell, afresh, late bool }{
		"a source tells of each":              {tell: true},
		"all is read afresh":                  {afresh: true},
		"a source tells, and all is read":     {tell: true, afresh: true},
		"a source tells after a new snapshot": {late: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := widgets(t)
			w.anew(t, "Widget", tc.tell)
			if tc.afresh {
				w.states = map[string]*state{}
			}
			w.tick(t, time.Minute)
			w.has(t, placed)
			if len(w.writes) > 0 {
				t.Errorf("writes where nothing changed: %v", w.writes)
			}
			w.put(t, w.made("ConfigMap", "shop", "a", "2"))
			w.tick(t, time.Minute)
			if tc.late {
				w.tell(t, events.ResourceDeleted, keyOf(object("Widget", "shop", "w", "")))
				w.tick(t, time.Minute)
			}
			after := strings.Replace(placed, "a 1", "a 2", 1)
			w.has(t, after)
			w.quiet(t)
			w.has(t, after)

			w.put(t, w.made("Widget", "shop", "w", "3"))
			w.tick(t, time.Minute)
			w.has(t, strings.Replace(after, "w 1", "w 3", 1))
			w.remove(t, keyOf(object("Widget", "shop", "w", "")))
			w.tick(t, time.Minute)
			w.has(t, strings.Replace(after, "Widget shop/w 1, ", "", 1))
			w.quiet(t)
		})
	}
}

// What is created again as it was makes no snapshot, but its deletion counts again.
func TestZ11WhatIsCreatedAgainAsItWas(t *testing.T) {
	for name, afresh := range map[string]bool{"a source tells": false, "all is read afresh": true} {
		t.Run(name, func(t *testing.T) {
			w := widgets(t)
			w.anew(t, "Widget", true)
			w.tick(t, time.Minute)
			w.put(t, w.made("Widget", "shop", "w", "1"))
			w.writes = nil
			w.tick(t, time.Minute)
			if !slices.Equal(w.writes, []string{"label crp-0-snapshot"}) {
				t.Errorf("writes %v, want what the snapshot says of it", w.writes)
			}
			w.quiet(t)
			w.remove(t, keyOf(object("Widget", "shop", "w", "")))
			if afresh {
				w.states = map[string]*state{}
			}
			w.tick(t, time.Minute)
			w.has(t, strings.Replace(placed, "Widget shop/w 1, ", "", 1))
		})
	}
}

// What somebody deletes leaves, and while a definition goes nothing leaves.
func TestZ11WhoDeletesAnObject(t *testing.T) {
	key := keyOf(object("Widget", "shop", "w", ""))
	leaving := func(w *world) {
		obj := w.made("Widget", "shop", "w", "1")
		obj["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-23T12:00:00Z"
		w.put(t, obj)
	}
	without := strings.Replace(placed, "Widget shop/w 1, ", "", 1)
	for name, tc := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"somebody deletes it": {func(w *world) { w.remove(t, key) }, without},
		"somebody deletes it, and it waits for its finalizers":   {leaving, without},
		"it goes with its definition":                            {func(w *world) { w.going["Widget"] = true; w.remove(t, key) }, placed},
		"it goes, and waits for its finalizers":                  {func(w *world) { w.going["Widget"] = true; leaving(w) }, placed},
		"its definition may not be read, or there is none":       {func(w *world) { delete(w.defined, "Widget"); w.remove(t, key) }, without},
		"its namespace is deleted after its definition was made": {func(w *world) { w.anew(t, "Widget", true); w.remove(t, placing.NamespaceKey("shop")) }, ""},
	} {
		for _, afresh := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", all is read afresh ", afresh), func(t *testing.T) {
				w := widgets(t)
				tc.change(w)
				if afresh {
					w.states = map[string]*state{}
				}
				w.tick(t, time.Minute)
				if got := strings.TrimPrefix(latest(w), ", "); got != tc.want {
					t.Errorf("the latest snapshot has %q, want %q", got, tc.want)
				}
			})
		}
	}
}

// Kinds that cannot have a definition cost nothing, the others one read for a kind.
func TestZ11WhatItCostsToTell(t *testing.T) {
	asked := func(w *world) []string {
		return slices.DeleteFunc(slices.Clone(w.reads), func(r string) bool { return !strings.HasPrefix(r, "definition") })
	}
	for _, afresh := range []bool{false, true} {
		w := widgets(t, "y", "z")
		w.remove(t, keyOf(object("ConfigMap", "shop", "a", "")))
		w.tick(t, time.Minute)
		if got := asked(w); len(got) > 0 {
			t.Errorf("a ConfigMap costs %v", got)
		}
		w.anew(t, "Widget", true)
		if afresh {
			w.states = map[string]*state{}
		}
		w.tick(t, time.Minute)
		if got := asked(w); !slices.Equal(got, []string{"definition of Widget"}) {
			t.Errorf("four Widgets cost %v", got)
		}
		if n := len(w.told); n != 1 || !strings.Contains(w.told[0], "Widget.example.com was defined again") {
			t.Errorf("told %q", w.told)
		}
	}
}

// As long as nobody knows when the kind was defined, nothing leaves.
func TestZ11ADefinitionThatCannotBeRead(t *testing.T) {
	w := widgets(t)
	w.undefinable = errors.New("etcd is slow")
	w.remove(t, keyOf(object("Widget", "shop", "w", "")))
	w.now = w.now.Add(time.Minute)
	if _, err := w.handle(touched(t)); !outcome.IsPartly(err) {
		t.Errorf("%v, want one that lets the policy act", err)
	}
	w.has(t, placed)
	w.undefinable = nil
	w.tick(t, time.Minute)
	w.has(t, strings.Replace(placed, "Widget shop/w 1, ", "", 1))
}

// A snapshot of an earlier version does not say when its objects were created: they
// existed when it was made. Nothing is written to add that.
func TestZ11ASnapshotOfAnEarlierVersion(t *testing.T) {
	w := widgets(t)
	delete(w.resources["crp-0-snapshot"].Annotations, placing.AnnotationCreated)
	w.quiet(t)
	w.anew(t, "Widget", true)
	w.tick(t, time.Minute)
	w.put(t, w.made("ConfigMap", "shop", "a", "2"))
	w.tick(t, time.Minute)
	w.quiet(t)
	w.has(t, strings.Replace(placed, "a 1", "a 2", 1))
}

// Objects without a namespace: those that the selectors leave out leave.
func TestZ11WhatHasNoNamespace(t *testing.T) {
	all := placementv1.ClusterResourceSelector{Group: "example.com", Version: "v1", Kind: "Gadget", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "g"}}}
	label := func(obj map[string]any, value string) map[string]any {
		obj["metadata"].(map[string]any)["labels"] = map[string]any{"app": value}
		return obj
	}
	for name, tc := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"it stays":            {func(*world) {}, "Namespace shop, ConfigMap shop/a 1, Gadget g, Widget shop/w 1, Widget shop/x 1"},
		"it is not selected":  {func(w *world) { s := w.placements["crp"]; s.Spec.ResourceSelectors = s.Spec.ResourceSelectors[:1] }, placed},
		"it gets other words": {func(w *world) { w.put(t, label(w.made("Gadget", "", "g", ""), "other")) }, placed},
	} {
		for _, afresh := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", all is read afresh ", afresh), func(t *testing.T) {
				w := widgets(t)
				w.put(t, label(w.made("Gadget", "", "g", ""), "g"))
				w.placements["crp"].Spec.ResourceSelectors = append(w.placements["crp"].Spec.ResourceSelectors, all)
				w.touch(t)
				w.anew(t, "Gadget", true)
				tc.change(w)
				if afresh {
					w.states = map[string]*state{}
				}
				w.tick(t, time.Minute)
				w.has(t, tc.want)
			})
		}
	}
}

// Of a snapshot in many parts, each says it of its own objects.
func TestZ11ManyParts(t *testing.T) {
	var more []string
	for i := range 2 * propagation.MaxManifests {
		more = append(more, fmt.Sprintf("y%04d", i))
	}
	w := widgets(t, more...)
	for name, part := range w.resources {
		if n := len(part.Annotations[placing.AnnotationCreated]); n == 0 || n > 4<<10 {
			t.Errorf("%s says it in %d bytes", name, n)
		}
	}
	w.anew(t, "Widget", false)
	w.states = map[string]*state{}
	w.reads = nil
	w.tick(t, time.Minute)
	if len(w.writes) > 0 {
		t.Errorf("writes %v", w.writes)
	}
	w.put(t, w.made("Widget", "shop", "y0700", "1"))
	w.tick(t, time.Minute)
	if !slices.Equal(w.writes, []string{"label crp-0-0"}) {
		t.Errorf("writes %v, want one part", w.writes)
	}
	w.remove(t, keyOf(object("Widget", "shop", "y0700", "")))
	w.remove(t, keyOf(object("Widget", "shop", "y0701", "")))
	w.tick(t, time.Minute)
	whole := strings.Join(w.holds()[3:], "")
	if strings.Contains(whole, "y0700") || !strings.Contains(whole, "y0701") {
		t.Errorf("holds %s", whole)
	}
}
