// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
