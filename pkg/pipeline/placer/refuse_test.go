// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

func TestC10SelectorsThatSelectTwiceAreRefused(t *testing.T) {
	w := shop(t)
	w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shop"), named("Namespace", "")}
	if got := w.touch(t); len(got) > 0 {
		t.Errorf("emitted %v", got)
	}
	w.want(t, first)
	c := w.placements["crp"].Status.Conditions
	if len(c) != 1 || c[0].Type != "ClusterResourcePlacementScheduled" || c[0].Status != "False" || c[0].Reason != "InvalidResourceSelectors" || c[0].ObservedGeneration != 1 {
		t.Errorf("conditions %v", c)
	}
	w.writes = nil
	w.touch(t)
	if w.tick(t, time.Hour) || len(w.writes) > 0 {
		t.Errorf("what was refused is asked again: %v", w.writes)
	}
	w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shop")}
	w.touch(t)
	if placing.Refused(w.placements["crp"]) {
		t.Error("it is refused yet")
	}
}

// The webhook says so at once; where it is off, the placement does, whether or not there are
// objects of the kind.
func TestC8AKindThatIsInNamespacesIsRefused(t *testing.T) {
	for sentence, name := range map[string]string{"all of the kind": "", "one that is there": "settings", "one that is not there": "nothing"} {
		t.Run(sentence, func(t *testing.T) {
			w := shop(t)
			w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shop"), named("ConfigMap", name)}
			w.touch(t)
			w.want(t, first)
			if c := w.placements["crp"].Status.Conditions; len(c) != 1 || c[0].Reason != "InvalidResourceSelectors" || !strings.Contains(c[0].Message, "select the Namespace") {
				t.Errorf("it says %v", c)
			}
		})
	}
}

// The policy of an edit whose selectors are refused does not act either, nor does one that
// comes after it, until the selectors are mended.
func TestZ2ThePolicyOfARefusedEditWaits(t *testing.T) {
	w := shop(t)
	p := w.placements["crp"]
	p.Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}
	p.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: []string{"member1"}}
	inForce := func(name string) {
		t.Helper()
		if latest := placing.LatestPolicy(w.placements["crp"], slices.Collect(maps.Values(w.policies))); latest == nil || latest.Name != name {
			t.Errorf("in force is %v, want %s", latest, name)
		}
	}
	w.touch(t)
	inForce("crp-0")
	if c := w.placements["crp"].Status.Conditions; len(c) != 1 || !strings.Contains(c[0].Message, "the policy that came with it waits, too") {
		t.Errorf("it says %v", c)
	}
	w.placements["crp"].Spec.Policy.ClusterNames = []string{"member2"}
	w.touch(t)
	inForce("crp-0")
	w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shop")}
	w.touch(t)
	inForce("crp-1")
	w.want(t, first)
}

// One wrong word in a placement takes nothing away from members.
func TestAPlacementOfWhatIsNotThereTakesNothingAway(t *testing.T) {
	labelled := placementv1.ClusterResourceSelector{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}}
	emptied := "crp-1-snapshot latest"
	for name, tc := range map[string]struct {
		change  func(w *world)
		selects []placementv1.ClusterResourceSelector
		says    string
		want    string
	}{
		"a misspelled name":               {selects: []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}, says: "Namespace shpo is selected and not there, and Namespace shop, which is there, would be removed"},
		"a misspelled name beside others": {selects: []placementv1.ClusterResourceSelector{named("ClusterRole", "reader"), named("Namespace", "shpo")}, says: "Namespace shpo is selected"},
		"a kind that nobody serves": {
			change:  func(w *world) { w.dark["Widget"] = true },
			selects: []placementv1.ClusterResourceSelector{{Group: "example.com", Version: "v1", Kind: "Widget"}}, says: "Widget is selected and not there",
		},
		"what nobody can tell of is not gone": {
			change:  func(w *world) { w.dark["Namespace"] = true },
			selects: []placementv1.ClusterResourceSelector{named("ClusterRole", "absent")}, says: "ClusterRole absent is selected",
		},
		"another name that is there":  {selects: []placementv1.ClusterResourceSelector{named("ClusterRole", "reader")}, want: "crp-1-snapshot latest, ClusterRole reader"},
		"C4: labels that nothing has": {selects: []placementv1.ClusterResourceSelector{labelled}, says: "Namespace with team=shop is selected and not there, and Namespace shop, which is there, would be removed"},
		"C4: labels that nothing has, beside what stays": {
			selects: []placementv1.ClusterResourceSelector{labelled, named("ClusterRole", "reader")}, says: "Namespace with team=shop is selected",
		},
		"C16: what went before is not there any more": {
			change:  func(w *world) { delete(w.objects, placing.NamespaceKey("shop").ID()) },
			selects: []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}, want: emptied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			w.objects[keyOf(object("ClusterRole", "", "reader", "")).ID()] = object("ClusterRole", "", "reader", "")
			if tc.change != nil {
				tc.change(w)
			}
			before := w.placements["crp"].Spec.ResourceSelectors
			w.placements["crp"].Spec.ResourceSelectors = tc.selects
			w.touch(t)
			if tc.says == "" {
				w.want(t, strings.Replace(first, " latest", "", 1), tc.want)
				return
			}
			w.want(t, first)
			if c := w.placements["crp"].Status.Conditions; len(c) != 1 || c[0].Reason != "InvalidResourceSelectors" || !strings.Contains(c[0].Message, tc.says) {
				t.Errorf("conditions %v, want one that says %q", c, tc.says)
			}
			w.states = map[string]*state{} // all is read afresh
			w.touch(t)
			w.want(t, first)
			w.dark = map[string]bool{}
			w.placements["crp"].Spec.ResourceSelectors = before
			w.touch(t)
			w.want(t, first)
			if placing.Refused(w.placements["crp"]) {
				t.Error("it is refused although it was corrected")
			}
		})
	}
}

// What its owner relabels leaves, also where all is read afresh; selectors by a label
// that nothing has any more are not acted on, until something has it.
func TestC4WhatIsRelabelledLeaves(t *testing.T) {
	w := shop(t)
	label := func(value string) map[string]any {
		obj := object("Namespace", "", "shop", "")
		obj["metadata"].(map[string]any)["labels"] = map[string]any{"app": value}
		return obj
	}
	by := func(value string) []placementv1.ClusterResourceSelector {
		return []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}}}
	}
	key := placing.NamespaceKey("shop").ID()
	w.objects[key] = label("nginx")
	w.placements["crp"].Spec.ResourceSelectors = by("nginx")
	w.touch(t)
	second := strings.Replace(first, "crp-0", "crp-1", 1)
	w.want(t, strings.Replace(first, " latest", "", 1), second)

	w.placements["crp"].Spec.ResourceSelectors = by("ngnix")
	w.touch(t)
	w.want(t, strings.Replace(first, " latest", "", 1), second)
	if !placing.Refused(w.placements["crp"]) {
		t.Error("it is not refused")
	}
	w.placements["crp"].Spec.ResourceSelectors = by("web")
	w.touch(t)
	w.put(t, label("web")) // its owner follows
	if !w.tick(t, time.Hour) {
		t.Fatal("it is not due")
	}
	w.touch(t)
	if placing.Refused(w.placements["crp"]) {
		t.Error("it is refused although something has the label")
	}
	held := w.holds()
	w.objects[key] = label("other")
	w.states = map[string]*state{} // all is read afresh
	w.now = w.now.Add(time.Hour)
	w.touch(t)
	if got := w.holds(); len(got) != len(held)+1 || !strings.HasSuffix(got[len(got)-1], "-snapshot latest") {
		t.Errorf("holds %q, want one more that is empty", got)
	}
}

// Who takes other selectors back before they have been noted gets what he asked for.
func TestSelectorsThatAreTakenBackInTheMiddle(t *testing.T) {
	w := shop(t)
	w.objects[keyOf(object("ClusterRole", "", "reader", "")).ID()] = object("ClusterRole", "", "reader", "")
	before := w.placements["crp"].Spec.ResourceSelectors
	w.placements["crp"].Spec.ResourceSelectors = append(before[:1:1], named("ClusterRole", "reader"))
	writes := 0
	w.fails = func(string) error {
		if writes++; writes > 1 {
			return errors.New("the connection is gone")
		}
		return nil
	}
	if _, err := w.handle(touched(t)); err == nil {
		t.Fatal("nothing failed")
	}
	w.fails = nil
	w.placements["crp"].Spec.ResourceSelectors = before
	w.touch(t)
	w.want(t, strings.Replace(first, " latest", "", 1), "crp-1-snapshot, Namespace shop, Secret shop/s 1, ConfigMap shop/a 1, ClusterRole reader",
		strings.Replace(first, "crp-0", "crp-2", 1))
}
