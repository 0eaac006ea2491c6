// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// shop is a namespace in the member.
func shop(o *applying.Observed) {
	o.Object = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "uid": "u"}}
}

// inhabitant is an object in the namespace shop.
func inhabitant(kind, name string, change ...func(*applying.Inhabitant)) applying.Inhabitant {
	i := applying.Inhabitant{GroupKind: schema.GroupKind{Kind: kind}, Namespace: "shop", Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
	for _, c := range change {
		c(&i)
	}
	return i
}

func madeBy(work, hub string) func(*applying.Inhabitant) {
	return func(i *applying.Inhabitant) {
		i.Labels[propagation.LabelMemberWork], i.Annotations[applying.AnnotationHub] = work, hub
	}
}

func TestZ12WhatAHolderHoldsOfOthersCounts(t *testing.T) {
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	namespace, definition := applying.Holder{Namespace: "shop"}, applying.Holder{Definition: true, Kind: deployment.WithVersion("v1"), Plural: "deployments"}
	for sentence, tc := range map[string]struct {
		holder applying.Holder
		i      applying.Inhabitant
		apart  bool
		want   bool
	}{
		"what a person made there":                                        {holder: namespace, i: inhabitant("ConfigMap", "notes"), want: true},
		"what another Work gave":                                          {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("other", "hub-1")), want: true},
		"what the same Works gave goes with it":                           {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("own", "hub-1"))},
		"what the same placement gave leaves by itself":                   {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("own", "hub-1")), apart: true, want: true},
		"what the same placement gave, which is being deleted":            {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("own", "hub-1"), func(i *applying.Inhabitant) { i.Deleting = true }), apart: true},
		"a Work of the same name of another hub":                          {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("own", "hub-2")), want: true},
		"what each namespace has":                                         {holder: namespace, i: inhabitant("ConfigMap", "kube-root-ca.crt")},
		"the account that each namespace has":                             {holder: namespace, i: inhabitant("ServiceAccount", "default")},
		"the token of that account":                                       {holder: namespace, i: inhabitant("Secret", "default-token", func(i *applying.Inhabitant) { i.Annotations["kubernetes.io/service-account.name"] = "default" })},
		"a Secret":                                                        {holder: namespace, i: inhabitant("Secret", "password"), want: true},
		"an account that somebody made":                                   {holder: namespace, i: inhabitant("ServiceAccount", "robot"), want: true},
		"a Pod that goes with another there":                              {holder: namespace, i: inhabitant("Pod", "nginx-1", func(i *applying.Inhabitant) { i.Owned = true })},
		"what another Work gave, though it is owned":                      {holder: namespace, i: inhabitant("ConfigMap", "pages", madeBy("other", "hub-1"), func(i *applying.Inhabitant) { i.Owned = true }), want: true},
		"what is being deleted anyway":                                    {holder: namespace, i: inhabitant("ConfigMap", "notes", func(i *applying.Inhabitant) { i.Deleting = true })},
		"an object of a kind that goes, which another in its place owns":  {holder: definition, i: inhabitant("Widget", "one", func(i *applying.Inhabitant) { i.Owned = true }), want: true},
		"an object of a kind that goes, which the same placement brought": {holder: definition, i: inhabitant("Widget", "one", madeBy("own", ""))},
	} {
		t.Run("Z12: "+sentence, func(t *testing.T) {
			a := applying.Account{Hub: "hub-1", Owners: []string{"own"}, Apart: tc.apart}
			if got := a.Counts(tc.holder, tc.i); got != tc.want {
				t.Errorf("counts: %t, want %t", got, tc.want)
			}
		})
	}
	if applying.Lists(schema.GroupKind{Kind: "Event"}) || !applying.Lists(deployment) {
		t.Error("Events are listed, or Deployments are not")
	}
}

// digest is what a message has of contents.
var digest = regexp.MustCompile(`\(contents [0-9a-f]{12}\)`)

func TestZ12WhatHoldsOthersStays(t *testing.T) {
	leaving := func(change ...func(*applying.Finding)) applying.Finding {
		f := applying.Examine(applying.Evidence{Others: applying.Have(applying.Others{}), Work: workOf(), Template: applying.None[*propagation.Template](), Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Now: start})
		for _, c := range change {
			c(&f)
		}
		return f
	}
	many := applying.Have([]applying.Inhabitant{inhabitant("Secret", "b"), inhabitant("ConfigMap", "d"), inhabitant("ConfigMap", "c"), inhabitant("Secret", "a")})
	held := "Namespace shop in m1 holds what is not removed with it: ConfigMap shop/c, ConfigMap shop/d, Secret shop/a and 1 more (contents 000000000000); 'kubectl sluice approve m1 namespace/shop' removes it with all that is in it"
	// What it holds, though no other is named, or as many are.
	another := func(change func(all []applying.Inhabitant) []applying.Inhabitant) applying.Read[[]applying.Inhabitant] {
		return applying.Have(change(slices.Clone(many.Value)))
	}
	crowd := make([]applying.Inhabitant, applying.MostInside)
	for i := range crowd {
		crowd[i] = inhabitant("ConfigMap", fmt.Sprintf("c%02d", i))
	}
	first := inhabitant("Deployment", "x", func(i *applying.Inhabitant) { i.Leaves = true })
	approve := func(w *propagation.Work) {
		d := applying.Decide(applying.Input{Work: w, Live: object(shop), Leaving: true, Finding: leaving(), Inside: many})
		*w = *w.Approving(applying.Approval(d.Message))
	}
	for sentence, tc := range map[string]struct {
		live     applying.Read[*applying.Observed]
		inside   applying.Read[[]applying.Inhabitant]
		finding  applying.Finding
		blocking bool
		work     func(*propagation.Work)

		action  applying.Action
		reason  applying.Reason
		message string
		asks    bool
	}{
		"a namespace of which nobody asked what it holds": {live: object(shop), finding: leaving(), action: applying.Wait, reason: applying.ReasonCannotTell, asks: true},
		"an empty one":            {live: object(shop), finding: leaving(), inside: applying.Have([]applying.Inhabitant(nil)), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"one that holds others":   {live: object(shop), finding: leaving(), inside: many, action: applying.Wait, reason: applying.ReasonHoldsOthers, message: held},
		"one that was approved":   {live: object(shop), finding: leaving(), inside: many, work: approve, action: applying.Remove, reason: applying.ReasonTemplateGone},
		"approved, and more came": {live: object(shop), finding: leaving(), inside: applying.Have(append(many.Value, inhabitant("Secret", "e"))), work: approve, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"approved, and one that is not named is another": {live: object(shop), finding: leaving(), inside: another(func(all []applying.Inhabitant) []applying.Inhabitant {
			all[0].Name = "z"
			return all
		}), work: approve, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"approved, and one was made anew": {live: object(shop), finding: leaving(), inside: another(func(all []applying.Inhabitant) []applying.Inhabitant {
			all[0].UID = "another"
			return all
		}), work: approve, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"approved, and they are found in another order": {live: object(shop), finding: leaving(), inside: another(func(all []applying.Inhabitant) []applying.Inhabitant {
			slices.Reverse(all)
			return all
		}), work: approve, action: applying.Remove, reason: applying.ReasonTemplateGone},
		"approved, and the namespace was made anew": {live: object(shop, func(o *applying.Observed) { o.UID = "another" }), finding: leaving(), inside: many, work: approve, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"a crowd, of which another was approved": {live: object(shop), finding: leaving(), inside: applying.Have(append(crowd, inhabitant("Secret", "password"))), work: func(w *propagation.Work) {
			d := applying.Decide(applying.Input{Work: w, Live: object(shop), Leaving: true, Finding: leaving(), Inside: applying.Have(crowd)})
			*w = *w.Approving(applying.Approval(d.Message))
		}, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"one that cannot be seen":                           {live: object(shop), finding: leaving(), inside: applying.Read[[]applying.Inhabitant]{Why: "forbidden"}, action: applying.Wait, reason: applying.ReasonHoldsOthers},
		"what leaves by itself leaves first":                {live: object(shop), finding: leaving(func(f *applying.Finding) { f.Ending = true }), inside: applying.Have(append(many.Value, first)), work: approve, action: applying.Wait, reason: applying.ReasonInsideLeaves, message: "Namespace shop in m1 holds what leaves before it does: Deployment shop/x"},
		"its placement ends, and it holds others":           {live: object(shop), finding: leaving(func(f *applying.Finding) { f.Ending = true }), inside: many, action: applying.Release, reason: applying.ReasonHoldsOthers},
		"its placement ends, and it is empty":               {live: object(shop), finding: leaving(func(f *applying.Finding) { f.Ending = true }), inside: applying.Have([]applying.Inhabitant(nil)), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"the namespace of its Work goes":                    {live: object(shop), finding: leaving(), inside: many, blocking: true, action: applying.Release, reason: applying.ReasonWorksLeaving},
		"what holds nothing is removed without asking that": {live: object(), finding: leaving(), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"a definition of which nobody asked": {live: object(func(o *applying.Observed) {
			o.Object = map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.shop.example"}}
		}), finding: leaving(), action: applying.Wait, reason: applying.ReasonCannotTell, asks: true},
	} {
		t.Run("Z12: "+sentence, func(t *testing.T) {
			w := workOf()
			if tc.work != nil {
				tc.work(w)
			}
			d := applying.Decide(applying.Input{Work: w, Hub: "hub-1", Live: tc.live, Leaving: true, Finding: tc.finding, Inside: tc.inside, Blocking: tc.blocking})
			if d.Action != tc.action || d.Reason != tc.reason || d.AsksInside != tc.asks || tc.message != "" && d.Message != tc.message && digest.ReplaceAllString(d.Message, "(contents 000000000000)") != tc.message {
				t.Errorf("got %s %s asks %t: %s", d.Action, d.Reason, d.AsksInside, d.Message)
			}
			if _, permitted := d.Removal(); permitted != (tc.action == applying.Remove) {
				t.Errorf("a removal is permitted: %t", permitted)
			}
		})
	}
}

func TestHolderOf(t *testing.T) {
	definition := map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": map[string]any{
		"group": "shop.example", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
		"versions": []any{map[string]any{"name": "v1alpha1", "served": false}, map[string]any{"name": "v1", "served": true}},
	}}
	if got, want := applying.HolderOf(definition), (applying.Holder{Definition: true, Kind: schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Widget"}, Plural: "widgets"}); got != want {
		t.Errorf("got %+v", got)
	}
	if got := applying.HolderOf(object(shop).Value.Object); got != (applying.Holder{Namespace: "shop"}) {
		t.Errorf("got %+v", got)
	}
	if applying.HolderOf(asked).Holds() {
		t.Error("a Deployment holds something")
	}
}

// A placement that is deleted waits for what its namespaces hold a while, and no longer.
func TestC102APlacementEndsAfterAWhile(t *testing.T) {
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp", DeletionTimestamp: &metav1.Time{Time: start}}}
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "crp-work", Form: propagation.PlacementForm}, Deleting: true, Deleted: start, Labels: map[string]string{placementv1.LabelParentCRP: "crp"}}
	type times struct{ deleted, holding time.Duration } // so long ago; negative: never
	for ago, want := range map[times]bool{
		{0, -1}: false, {applying.Ending, -1}: false, {applying.Ending, 0}: false, {applying.Ending, applying.Ending - time.Second}: false,
		{0, applying.Ending}: false, {applying.Ending, applying.Ending}: true,
	} {
		now, holding := start.Add(ago.deleted), time.Time{}
		if ago.holding >= 0 {
			holding = now.Add(-ago.holding)
		}
		f := applying.ExaminePlacement(applying.PlacementEvidence{Others: applying.Have(applying.Others{}),
			Work: w, Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Member: applying.Have(&memberclusterv1.MemberCluster{}), Placement: applying.Have(p), Holding: holding, Now: now,
		})
		if !f.Proof.Holds() || f.Ending != want {
			t.Errorf("%v: it ends: %t", ago, f.Ending)
		}
	}
	if strings.Contains(applying.Approval("a"), applying.Approval("b")) {
		t.Error("two messages have one approval")
	}
}
