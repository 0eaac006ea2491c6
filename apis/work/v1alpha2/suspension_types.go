// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// Suspension holds back writes to members, or the scheduling. The first two
// fields come from the policy, under their released names; the third belongs
// to whoever set it and outlives every change of the policy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.dispatching) || !self.dispatching || !has(self.dispatchingOnClusters) || !has(self.dispatchingOnClusters.clusterNames) || size(self.dispatchingOnClusters.clusterNames) == 0",message="suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
type Suspension struct {
	// Dispatching holds back every cluster. False and nil mean the same: not
	// suspended. True excludes a list of clusters.
	// +optional
	Dispatching *bool `json:"dispatching,omitempty"`

	// DispatchingOnClusters holds back the clusters that it names.
	// +optional
	DispatchingOnClusters *policyv1alpha1.SuspendClusters `json:"dispatchingOnClusters,omitempty"`

	// Scheduling holds back the scheduler, for instance while a queue of a
	// third party decides. Meant to be set when the binding is made: clusters
	// that are chosen already stay.
	// +optional
	Scheduling *bool `json:"scheduling,omitempty"`
}

// Dispatch says whether every cluster is held back, and otherwise which ones,
// sorted and without repetition. A nil suspension holds nothing back.
func (s *Suspension) Dispatch() (all bool, clusters []string) {
	if s == nil {
		return false, nil
	}
	p := policyv1alpha1.Suspension{Dispatching: s.Dispatching, DispatchingOnClusters: s.DispatchingOnClusters}
	return p.Dispatch()
}

// SchedulingSuspended reports whether the scheduler must wait. A nil
// suspension holds nothing back.
func (s *Suspension) SchedulingSuspended() bool {
	return s != nil && s.Scheduling != nil && *s.Scheduling
}
