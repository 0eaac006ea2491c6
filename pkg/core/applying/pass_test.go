// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// given is a Work of the placement with that ConfigMap.
func given(placement string, change ...func(*propagation.Work)) *propagation.Work {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: placement + "-work", Form: propagation.PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: placement}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"pages"}}`)}}, {RawExtension: runtime.RawExtension{Raw: []byte(`{`)}}}
	for _, c := range change {
		c(w)
	}
	return w
}

func TestC75WhoIsAnHeir(t *testing.T) {
	going := func(w *propagation.Work) { w.Deleting = true }
	reports := func(w *propagation.Work) {
		w.Strategy = &placementv1.ApplyStrategy{Type: placementv1.ApplyStrategyTypeReportDiff}
	}
	elsewhere := func(w *propagation.Work) { w.Key.Cluster = "m2" }
	part := func(w *propagation.Work) { w.Key.Name = "one-1" }
	for sentence, tc := range map[string]struct {
		w, other *propagation.Work
		rival    bool
		wants    int
	}{
		"another placement":                          {w: given("one"), other: given("two"), rival: true, wants: 1},
		"a placement, of a policy":                   {w: workOf(), other: given("two"), rival: true, wants: 1},
		"a policy, of a placement":                   {w: given("one"), other: workOf(), rival: true},
		"another part of the same placement":         {w: given("one"), other: given("one", part), wants: 1},
		"another Work of the same binding":           {w: workOf(), other: workOf(func(w *propagation.Work) { w.Key.Name = "former" })},
		"itself":                                     {w: given("one"), other: given("one"), wants: 1},
		"one that goes, too":                         {w: given("one"), other: given("two", going)},
		"one in another member":                      {w: given("one"), other: given("two", elsewhere), wants: 1},
		"a placement that only tells of differences": {w: given("one"), other: given("two", reports), rival: true},
	} {
		t.Run("C75: "+sentence, func(t *testing.T) {
			if got := applying.Rival(tc.w, tc.other); got != tc.rival {
				t.Errorf("a rival: %t, want %t", got, tc.rival)
			}
			if got := applying.WantedBy(tc.other); len(got) != tc.wants || tc.wants > 0 && got[0] != "/ConfigMap/shop/pages" {
				t.Errorf("it wants %q", got)
			}
		})
	}
}

func TestC75Y9WhatAnotherWantsIsPassedOn(t *testing.T) {
	object := func(change ...func(*applying.Observed)) applying.Read[*applying.Observed] {
		return object(append(change, func(o *applying.Observed) { o.Version = "7" })...)
	}
	template, err := workOf().Template()
	if err != nil {
		t.Fatal(err)
	}
	heir := propagation.WorkKey{Cluster: "m1", Name: "two-work", Form: propagation.PlacementForm}
	wanted := applying.Have(applying.Others{template.ID(): heir})
	for sentence, tc := range map[string]struct {
		others   applying.Read[applying.Others]
		live     applying.Read[*applying.Observed]
		preserve bool

		action applying.Action
		reason applying.Reason
		asks   bool
	}{
		"nobody asked who else wants it":             {live: object(), action: applying.Wait, reason: applying.ReasonCannotTell, asks: true},
		"who else wants it cannot be told":           {others: applying.Read[applying.Others]{Why: "forbidden"}, live: object(), action: applying.Wait, reason: applying.ReasonCannotTell},
		"nobody does":                                {others: applying.Have(applying.Others{}), live: object(), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"others want something else":                 {others: applying.Have(applying.Others{"/ConfigMap/shop/pages": heir}), live: object(), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"another does":                               {others: wanted, live: object(), action: applying.Pass, reason: applying.ReasonPassedOn},
		"another does, and it was to be preserved":   {others: wanted, live: object(), preserve: true, action: applying.Pass, reason: applying.ReasonPassedOn},
		"another has it already":                     {others: wanted, live: object(foreign), action: applying.Release, reason: applying.ReasonNotOurs},
		"another wants it, and it is being deleted":  {others: wanted, live: object(deleting), action: applying.Wait, reason: applying.ReasonTerminating},
		"another wants a namespace, whatever it has": {others: wanted, live: object(shop), action: applying.Pass, reason: applying.ReasonPassedOn},
	} {
		t.Run("C75, Y9: "+sentence, func(t *testing.T) {
			w := workOf()
			w.Spec.PreserveResourcesOnDeletion = &tc.preserve
			f := applying.Examine(applying.Evidence{Work: w, Template: applying.None[*propagation.Template](), Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Others: tc.others})
			if f.AsksOthers != tc.asks {
				t.Errorf("asks: %t", f.AsksOthers)
			}
			d := applying.Decide(applying.Input{Work: w, Hub: "hub-1", Live: tc.live, Leaving: true, Finding: f})
			if d.Action != tc.action || d.Reason != tc.reason {
				t.Errorf("got %s %s: %s", d.Action, d.Reason, d.Message)
			}
			if _, removes := d.Removal(); removes != (tc.action == applying.Remove) {
				t.Errorf("a removal is permitted: %t", removes)
			}
			p, passes := d.Passing()
			if passes != (tc.action == applying.Pass) {
				t.Fatalf("it is passed on: %t", passes)
			}
			if !passes {
				return
			}
			marks := map[string]any{
				"labels":      map[string]any{propagation.LabelMemberWork: "placement_two-work"},
				"annotations": map[string]any{applying.AnnotationWork: "fleet-member-m1/two-work", applying.AnnotationManifest: nil},
			}
			if diff := cmp.Diff(marks, p.Marks()); diff != "" || p.UID() != "u" || p.Version() != "7" || p.Heir() == nil || *p.Heir() != heir {
				t.Errorf("got %+v\n%s", p, diff)
			}
		})
	}
}

// What a placement leaves behind is nobody's, so that another may have it.
func TestC102WhatAPlacementLeavesBehindIsNobodys(t *testing.T) {
	over := &placementv1.ClusterResourcePlacement{}
	over.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	mine := func(o *applying.Observed) { o.Work, o.Version = "placement_one-work", "7" }
	for sentence, tc := range map[string]struct {
		live  applying.Read[*applying.Observed]
		frees bool
	}{
		"the member has it":                {live: object(mine), frees: true},
		"somebody took it":                 {live: object(foreign)},
		"it is nobody's already":           {live: object(func(o *applying.Observed) { o.Work = "" })},
		"the member does not have it":      {live: applying.None[*applying.Observed]()},
		"whether it does cannot be told":   {live: applying.Read[*applying.Observed]{Why: "no answer"}},
		"what others put into a namespace": {live: object(mine, shop), frees: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := given("one", func(w *propagation.Work) { w.Deleting, w.Spec.PreserveResourcesOnDeletion = true, new(true) })
			key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "pages"}
			f := applying.ExaminePlacement(applying.PlacementEvidence{
				Others: applying.Have(applying.Others{}), Work: w, Object: key, Placement: applying.Have(over),
				Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Member: applying.Have(&memberclusterv1.MemberCluster{}),
			})
			d := applying.Decide(applying.Input{Work: w, Hub: "hub-1", Live: tc.live, Leaving: true, Finding: f})
			p, frees := d.Passing()
			if _, removes := d.Removal(); removes || d.Action != applying.Release || d.Reason != applying.ReasonPreserved || frees != tc.frees {
				t.Fatalf("got %s %s, removed %t, freed %t", d.Action, d.Reason, removes, frees)
			}
			marks := map[string]any{
				"labels":      map[string]any{propagation.LabelMemberWork: nil, workv1alpha1.LabelManaged: nil},
				"annotations": map[string]any{applying.AnnotationWork: nil, applying.AnnotationManifest: nil, applying.AnnotationHub: nil},
			}
			if diff := cmp.Diff(marks, p.Marks()); frees && (diff != "" || p.UID() != "u" || p.Version() != "7" || p.Heir() != nil) {
				t.Errorf("got %+v\n%s", p, diff)
			}
		})
	}
}
