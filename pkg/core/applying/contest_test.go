// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// What one wants of another is said on that one, by who wants it, for as long as both do.
func TestC75Y9TheHolderSaysWhoElseWantsIt(t *testing.T) {
	pages := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "pages"}
	policys := func(w *propagation.Work) {
		w.Annotations[propagation.AnnotationBindingNamespace], w.Annotations[propagation.AnnotationBindingName] = "shop", "pages-configmap"
		w.Annotations[propagation.AnnotationTemplate] = `{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"pages"}`
		w.Spec.Workload.Manifests = given("x").Spec.Workload.Manifests
	}
	going := func(w *propagation.Work) { w.Deleting = true }
	empty := func(w *propagation.Work) { w.Spec.Workload.Manifests = nil }
	reports := func(w *propagation.Work) {
		w.Strategy = &placementv1.ApplyStrategy{Type: placementv1.ApplyStrategyTypeReportDiff}
	}
	for sentence, tc := range map[string]struct {
		holder, w *propagation.Work
		says      string
		// then is the one that wants it later.
		then *propagation.Work
		over bool
	}{
		"two placements":                         {holder: given("one"), w: given("two"), says: "ConfigMap shop/pages is wanted by the placement two, too, in m1", then: given("two")},
		"a policy, and a placement":              {holder: workOf(policys), w: given("two"), says: "ConfigMap shop/pages is wanted by the placement two, too, in m1", then: given("two")},
		"a placement, and a policy":              {holder: given("one"), w: workOf(policys), says: "ConfigMap shop/pages is wanted by the policy of binding shop/pages-configmap, too, in m1", then: workOf(policys)},
		"the other one goes":                     {holder: given("one"), w: given("two"), says: "the placement two", then: given("two", going), over: true},
		"the other one wants it no more":         {holder: given("one"), w: given("two"), says: "the placement two", then: given("two", empty), over: true},
		"the other one only reports by now":      {holder: given("one"), w: given("two"), says: "the placement two", then: given("two", reports), over: true},
		"the holder goes":                        {holder: given("one", going), w: given("two")},
		"the holder wants it no more":            {holder: given("one", empty), w: given("two")},
		"another part of the holder's placement": {holder: given("one"), w: given("one", func(w *propagation.Work) { w.Key.Name = "one-1" })},
	} {
		t.Run("C75, Y9: "+sentence, func(t *testing.T) {
			rivals := applying.Contest(tc.holder, tc.w, []propagation.TemplateKey{pages})
			said := tc.holder.WithRivals(rivals)
			why := contested([]*propagation.Work{said})
			if (why != "") != (tc.says != "") || !strings.Contains(why, tc.says) {
				t.Fatalf("it says %q, want %q", why, tc.says)
			}
			if tc.says == "" {
				return
			}
			if again := said.WithRivals(applying.Contest(said, tc.w, []propagation.TemplateKey{pages})); again.Annotations[propagation.AnnotationRivals] != said.Annotations[propagation.AnnotationRivals] {
				t.Errorf("said again it is %v", again.Rivals())
			}
			if got := applying.Contests(said, tc.then, said.Rivals()[0]); got == tc.over {
				t.Errorf("later it is contested: %t", got)
			}
			if bare := said.WithRivals(nil); len(bare.Rivals()) > 0 || contested([]*propagation.Work{bare}) != "" {
				t.Errorf("at last it says %v", bare.Rivals())
			}
		})
	}
}

// Of many objects and many members few are named.
func TestC75WhatIsContestedIsToldInBounds(t *testing.T) {
	many := func(w *propagation.Work) {
		for i := range 100 {
			raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"p-%03d"}}`, i)
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
		}
	}
	var keys []propagation.TemplateKey
	for i := range 100 {
		keys = append(keys, propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("p-%03d", i)})
	}
	var works []*propagation.Work
	for m := range 9 {
		at := func(w *propagation.Work) { w.Key.Cluster = fmt.Sprintf("m%d", m) }
		w := given("one", many, at)
		for p := range 30 {
			w = w.WithRivals(applying.Contest(w, given(fmt.Sprintf("p%02d", p), many, at), keys))
		}
		if n := len(w.Rivals()); n != 20 {
			t.Errorf("%d are said", n)
		}
		works = append(works, w)
	}
	if why := contested(works); len(why) > 1024 || !strings.Contains(why, "in m0, m1, m2, m3, m4 and 4 more") || !strings.Contains(why, " more") {
		t.Errorf("it says %s", why)
	}
}

// Whose an object is that somebody else has, is read from its marks.
func TestC75WhoseAnObjectIs(t *testing.T) {
	w := given("two")
	for sentence, tc := range map[string]struct {
		annotation, label, hub string
		want                   string
	}{
		"another placement's":        {annotation: "fleet-member-m1/one-work", label: "placement_one-work", want: "one-work"},
		"a policy's":                 {annotation: "karmada-es-m1/pages-configmap-x", label: "pages-configmap-x", want: "pages-configmap-x"},
		"of another hub":             {annotation: "fleet-member-m1/one-work", label: "placement_one-work", hub: "hub-2"},
		"of another name's member":   {annotation: "fleet-member-alias/one-work", label: "placement_one-work"},
		"its own":                    {annotation: "fleet-member-m1/two-work", label: "placement_two-work"},
		"marks that contradict":      {annotation: "fleet-member-m1/one-work", label: "placement_three-work"},
		"nobody's":                   {},
		"a mark that is none at all": {annotation: "one-work", label: "placement_one-work"},
	} {
		t.Run("C75: "+sentence, func(t *testing.T) {
			o := &applying.Observed{Work: tc.label, Hub: tc.hub, Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{applying.AnnotationWork: tc.annotation}}}}
			key, is := applying.HeldBy(w, "hub-1", o)
			if is != (tc.want != "") || is && (key.Name != tc.want || key.Cluster != "m1") {
				t.Errorf("it is %v, %t", key, is)
			}
		})
	}
}

// contested is what is said of who has these Works; empty: nothing.
func contested(works []*propagation.Work) string {
	if c, is := applying.Contested(works, 1); is {
		return c.Message
	}
	return ""
}
