// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"errors"
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
		"C4: labels that nothing has": {selects: []placementv1.ClusterResourceSelector{labelled}, want: emptied},
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
