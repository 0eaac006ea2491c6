// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

func TestExaminePlacement(t *testing.T) {
	w := &propagation.Work{
		Key:    propagation.WorkKey{Cluster: "m1", Name: "crp-1-work", Form: propagation.PlacementForm},
		Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"},
	}
	object := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	there := applying.Have(&placementv1.ClusterResourcePlacement{})
	deleting := &placementv1.ClusterResourcePlacement{}
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	leaving := &memberclusterv1.MemberCluster{}
	leaving.DeletionTimestamp = deleting.DeletionTimestamp
	bound := &placementv1.ClusterResourceBinding{}
	bound.Spec.State = placementv1.BindingStateBound
	waiting := &placementv1.ClusterResourceBinding{}
	waiting.Spec.State = placementv1.BindingStateUnscheduled
	none := applying.None[*placementv1.ClusterResourceBinding]()
	gives := applying.Have(map[string]propagation.WorkKey{object.ID(): w.Key})
	moved := applying.Have(map[string]propagation.WorkKey{object.ID(): {Cluster: "m1", Name: "crp-1-1", Form: propagation.PlacementForm}})
	nothing := applying.Have(map[string]propagation.WorkKey(nil))
	for name, tc := range map[string]struct {
		placement applying.Read[*placementv1.ClusterResourcePlacement]
		member    applying.Read[*memberclusterv1.MemberCluster] // the zero one: it takes part
		retired   bool
		binding   applying.Read[*placementv1.ClusterResourceBinding]
		leftOut   bool
		alias     string
		gives     applying.Read[map[string]propagation.WorkKey]

		proof             applying.Reason
		wanted, elsewhere bool
		left              bool
	}{
		"Z11: the placement is gone, and was not seen off":   {placement: applying.None[*placementv1.ClusterResourcePlacement](), left: true},
		"C102: the placement is being deleted":               {placement: applying.Have(deleting), proof: applying.ReasonTemplateDeleting},
		"Z11: all placements are, with their kind":           {placement: applying.Have(deleting), retired: true, left: true},
		"C54: the member leaves the placements":              {placement: there, binding: none, leftOut: true, member: applying.Have(leaving), left: true},
		"C54: the member has left the placements":            {placement: there, binding: none, leftOut: true, member: applying.None[*memberclusterv1.MemberCluster](), left: true},
		"Z11: the hub does not serve members":                {placement: there, binding: none, leftOut: true, member: applying.Read[*memberclusterv1.MemberCluster]{Answer: applying.NotServed}},
		"Z11: the hub does not serve placements":             {placement: applying.Read[*placementv1.ClusterResourcePlacement]{Answer: applying.NotServed}},
		"C15: the snapshot does not have it any more":        {placement: there, binding: applying.Have(bound), gives: nothing, proof: applying.ReasonLeftOut},
		"the snapshot has it":                                {placement: there, binding: applying.Have(bound), gives: gives, wanted: true},
		"the snapshot has it in another of its parts":        {placement: there, binding: applying.Have(bound), gives: moved, elsewhere: true},
		"what the snapshot has cannot be told":               {placement: there, binding: applying.Have(bound)},
		"C54: the member is not chosen any more":             {placement: there, binding: none, leftOut: true, proof: applying.ReasonLeftOut},
		"it is chosen under another of its names":            {placement: there, binding: none, leftOut: true, alias: "prod-1", elsewhere: true},
		"Z4: the binding was deleted by hand":                {placement: there, binding: none},
		"C63: the rollout has not come to the member to end": {placement: there, binding: applying.Have(waiting), leftOut: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.member == (applying.Read[*memberclusterv1.MemberCluster]{}) {
				tc.member = applying.Have(&memberclusterv1.MemberCluster{})
			}
			f := applying.ExaminePlacement(applying.PlacementEvidence{Others: applying.Have(applying.Others{}),
				Work: w, Object: object, Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Member: tc.member, Retired: tc.retired,
				Placement: tc.placement, Binding: tc.binding, LeftOut: tc.leftOut, Alias: tc.alias, Gives: tc.gives,
			})
			if f.Proof.Reason() != tc.proof || f.Wanted != tc.wanted || f.Elsewhere != tc.elsewhere || f.Left != tc.left || !tc.wanted && f.Message == "" {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// Z11: what is missing, or not served, may stay so: a Work that is being deleted for long
// need not wait for it where it holds up others.
func TestZ11OfAPlacementSomethingCannotBeTold(t *testing.T) {
	deleted := time.Unix(1000, 0)
	object := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	bound := &placementv1.ClusterResourceBinding{}
	bound.Spec.State = placementv1.BindingStateBound
	waiting := &placementv1.ClusterResourceBinding{}
	waiting.Spec.State = placementv1.BindingStateUnscheduled
	for name, tc := range map[string]struct {
		change func(e *applying.PlacementEvidence)
		after  time.Duration // since the Work was deleted; zero: it was long ago
		untold bool
	}{
		"the hub does not serve clusters": {change: func(e *applying.PlacementEvidence) {
			e.Cluster = applying.Read[*clusterv1alpha1.Cluster]{Answer: applying.NotServed}
		}, untold: true},
		"the hub does not serve members": {change: func(e *applying.PlacementEvidence) {
			e.Member = applying.Read[*memberclusterv1.MemberCluster]{Answer: applying.NotServed}
		}, untold: true},
		"the hub does not serve placements": {change: func(e *applying.PlacementEvidence) {
			e.Placement = applying.Read[*placementv1.ClusterResourcePlacement]{Answer: applying.NotServed}
		}, untold: true},
		"the hub does not serve bindings": {change: func(e *applying.PlacementEvidence) {
			e.Binding = applying.Read[*placementv1.ClusterResourceBinding]{Answer: applying.NotServed}
		}, untold: true},
		"the binding is missing":                 {change: func(*applying.PlacementEvidence) {}, untold: true},
		"the binding is missing, for a moment":   {change: func(*applying.PlacementEvidence) {}, after: 9 * time.Second},
		"what the binding names is missing":      {change: func(e *applying.PlacementEvidence) { e.Binding = applying.Have(bound) }, untold: true},
		"the rollout has not come to the member": {change: func(e *applying.PlacementEvidence) { e.Binding = applying.Have(waiting) }},
		"the member is left out":                 {change: func(e *applying.PlacementEvidence) { e.LeftOut = true }},
		"the Work is not being deleted":          {change: func(e *applying.PlacementEvidence) { e.Work.Deleting = false }},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.after == 0 {
				tc.after = time.Minute
			}
			e := applying.PlacementEvidence{
				Work:   &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "crp-1-work", Form: propagation.PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: "crp-1"}, Deleting: true, Deleted: deleted},
				Object: object, Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Member: applying.Have(&memberclusterv1.MemberCluster{}),
				Placement: applying.Have(&placementv1.ClusterResourcePlacement{}), Binding: applying.None[*placementv1.ClusterResourceBinding](),
				Others: applying.Have(applying.Others{}), Now: deleted.Add(tc.after),
			}
			tc.change(&e)
			if f := applying.ExaminePlacement(e); f.Untold != tc.untold || tc.untold && (f.Proof.Holds() || f.Message == "") {
				t.Errorf("got %+v", f)
			}
		})
	}
}
