// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

const shopHolds = "Namespace shop in member1 holds what is not removed with it: Secret shop/a"

// holding are a policy's Work and a placement's of which a removal is held.
func holding() (policys, placements *propagation.Work) {
	c := []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(applying.ReasonHoldsOthers), Message: shopHolds, LastTransitionTime: metav1.Unix(1, 0)}}
	policys = &propagation.Work{
		Key: propagation.WorkKey{Cluster: "member1", Name: "shop-namespace"}, Deleting: true,
		Annotations: map[string]string{propagation.AnnotationTemplate: `{"apiVersion":"v1","kind":"Namespace","name":"shop"}`},
	}
	policys.Status.Conditions = c
	placements = &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "crp-work", Form: propagation.PlacementForm}}
	placements.Results = []placementv1.ManifestCondition{
		{Identifier: placementv1.WorkResourceIdentifier{Version: "v1", Kind: "Namespace", Name: "shop"}, Conditions: c},
		{Identifier: placementv1.WorkResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "pages"}},
	}
	return policys, placements
}

func TestZ12WhatHoldsOthersIsListedUntilItIsApproved(t *testing.T) {
	policys, placements := holding()
	all := explaining.Inside([]*propagation.Work{placements, policys})
	if len(all) != 2 {
		t.Fatalf("listed: %+v", all)
	}
	for _, r := range all {
		if r.Template.String() != "Namespace shop" || r.Template.APIVersion != "v1" || r.Why != shopHolds || !r.Since.Equal(time.Unix(1, 0)) || r.Inside == nil {
			t.Errorf("got %+v", r)
		}
		if row := removalRows([]explaining.Removal{r}); len(row) != 1 || row[0][5].Text != shopHolds {
			t.Errorf("it is shown as %+v", row)
		}
	}
	approval := applying.Approval(shopHolds)
	if left := explaining.Inside([]*propagation.Work{policys.Approving(approval), placements.Approving(approval)}); len(left) != 0 {
		t.Errorf("approved, and listed: %+v", left)
	}
	if left := explaining.Inside([]*propagation.Work{policys.Approving(applying.Approval("another")).Approving("third")}); len(left) != 1 {
		t.Errorf("what holds more by now is not listed: %+v", left)
	}
}

// What holds others leaves only by its name; what the budget holds leaves with its cluster.
func TestZ12ApproveByName(t *testing.T) {
	app := func(name string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	}
	room := propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}
	held := []explaining.Removal{
		{Cluster: "member1", Template: app("one")},
		{Cluster: "member1", Template: app("two")},
		{Cluster: "member1", Template: room, Inside: &propagation.WorkKey{Cluster: "member1", Name: "shop-namespace"}},
	}
	for sentence, tc := range map[string]struct {
		namespace   string
		named       []propagation.TemplateKey
		leave, stay []int
		fails       bool
	}{
		"a cluster alone":        {leave: []int{0, 1}, stay: []int{2}},
		"a namespace of it":      {namespace: "shop", leave: []int{0, 1}},
		"another namespace":      {namespace: "bank"},
		"one template":           {named: []propagation.TemplateKey{app("two")}, leave: []int{1}},
		"in another version":     {named: []propagation.TemplateKey{{APIVersion: "apps/v1beta1", Kind: "Deployment", Namespace: "shop", Name: "two"}}, leave: []int{1}},
		"what holds others":      {named: []propagation.TemplateKey{room}, leave: []int{2}},
		"one that is not held":   {named: []propagation.TemplateKey{app("three"), room}, fails: true},
		"one of another that is": {named: []propagation.TemplateKey{{APIVersion: "v1", Kind: "Deployment", Namespace: "shop", Name: "two"}}, fails: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &approveOptions{session: &session{flags: genericclioptions.NewConfigFlags(false)}}
			o.flags.Namespace = &tc.namespace
			leave, stay, err := o.choose(held, tc.named)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			for _, one := range []struct {
				what string
				want []int
				got  []explaining.Removal
			}{{"leave", tc.leave, leave}, {"stay", tc.stay, stay}} {
				var want []explaining.Removal
				for _, i := range one.want {
					want = append(want, held[i])
				}
				if d := cmp.Diff(want, one.got); d != "" {
					t.Errorf("%s (-want +got):\n%s", one.what, d)
				}
			}
		})
	}
}
