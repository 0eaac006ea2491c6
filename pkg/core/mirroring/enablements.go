// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

// MaxKinds is how many kinds of a member its Cluster lists at most: some 200 KiB.
const MaxKinds = 2000

// Kinds are the kinds that a member's discovery lists.
type Kinds struct {
	Served []clusterv1alpha1.APIEnablement
	// Partial reports that discovery failed for some API group.
	Partial bool
}

// Enablements returns the kinds as a Cluster lists them, sorted and without duplicates,
// and the condition that says whether the list is complete. Where it is not, the member
// may serve kinds that are not listed.
func Enablements(k Kinds) ([]clusterv1alpha1.APIEnablement, metav1.Condition) {
	c := metav1.Condition{
		Type: clusterv1alpha1.ConditionCompleteAPIEnablements, Status: metav1.ConditionTrue,
		Reason: clusterv1alpha1.ReasonFullAPIEnablements, Message: "status.apiEnablements lists all kinds that the cluster serves",
	}
	var list []clusterv1alpha1.APIEnablement
	for _, e := range k.Served {
		e.Resources = slices.Clone(e.Resources)
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b clusterv1alpha1.APIEnablement) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	list = slices.CompactFunc(list, func(a, b clusterv1alpha1.APIEnablement) bool { return a.GroupVersion == b.GroupVersion })
	left := MaxKinds
	for i := range list {
		kinds := list[i].Resources
		slices.SortFunc(kinds, func(a, b clusterv1alpha1.APIResource) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
		})
		kinds = slices.Compact(kinds)
		if len(kinds) > left {
			kinds = kinds[:left]
			c.Message = fmt.Sprintf("the cluster serves more than the %d kinds that are listed", MaxKinds)
			c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonPartialAPIEnablements
		}
		left -= len(kinds)
		list[i].Resources = kinds
	}
	list = slices.DeleteFunc(list, func(e clusterv1alpha1.APIEnablement) bool { return len(e.Resources) == 0 })
	switch {
	case len(list) == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, clusterv1alpha1.ReasonEmptyAPIEnablements, "the cluster's discovery lists no kind"
	case k.Partial:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, clusterv1alpha1.ReasonPartialAPIEnablements, "discovery of some API groups of the cluster failed"
	}
	return list, c
}
