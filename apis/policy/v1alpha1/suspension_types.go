// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "slices"

// Suspension holds back writes to members: objects are rendered, and not
// applied. Deletion of a template passes.
//
// Each field is served under two names, the one of the design document and the
// released one. Either may be used; where both are set, they must agree.
//
// +kubebuilder:validation:XValidation:rule="!has(self.dispatching) || !has(self.suspendDispatching) || self.dispatching == self.suspendDispatching",message="dispatching and suspendDispatching are two names of one field and must agree",fieldPath=".suspendDispatching"
// +kubebuilder:validation:XValidation:rule="!has(self.dispatchingOnClusters) || !has(self.suspendDispatchingOnClusters) || (has(self.dispatchingOnClusters.clusterNames) ? self.dispatchingOnClusters.clusterNames : []) == (has(self.suspendDispatchingOnClusters.clusterNames) ? self.suspendDispatchingOnClusters.clusterNames : []) || sets.equivalent(has(self.dispatchingOnClusters.clusterNames) ? self.dispatchingOnClusters.clusterNames : [], has(self.suspendDispatchingOnClusters.clusterNames) ? self.suspendDispatchingOnClusters.clusterNames : [])",message="dispatchingOnClusters and suspendDispatchingOnClusters are two names of one field and must agree",fieldPath=".suspendDispatchingOnClusters"
// +kubebuilder:validation:XValidation:rule="!((has(self.dispatching) && self.dispatching) || (has(self.suspendDispatching) && self.suspendDispatching)) || !((has(self.dispatchingOnClusters) && has(self.dispatchingOnClusters.clusterNames) && size(self.dispatchingOnClusters.clusterNames) > 0) || (has(self.suspendDispatchingOnClusters) && has(self.suspendDispatchingOnClusters.clusterNames) && size(self.suspendDispatchingOnClusters.clusterNames) > 0))",message="suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
type Suspension struct {
	// Dispatching holds back every cluster. False and nil mean the same: not
	// suspended. True excludes a list of clusters.
	// +optional
	Dispatching *bool `json:"dispatching,omitempty"`

	// DispatchingOnClusters holds back the clusters that it names.
	// +optional
	DispatchingOnClusters *SuspendClusters `json:"dispatchingOnClusters,omitempty"`

	// SuspendDispatching is another name of Dispatching.
	// +optional
	SuspendDispatching *bool `json:"suspendDispatching,omitempty"`

	// SuspendDispatchingOnClusters is another name of DispatchingOnClusters.
	// +optional
	SuspendDispatchingOnClusters *SuspendClusters `json:"suspendDispatchingOnClusters,omitempty"`
}

// SuspendClusters names clusters. There is no selector on purpose: whether a
// cluster is held back must not depend on its labels.
type SuspendClusters struct {
	// ClusterNames are the clusters, in any order. A name that is not
	// scheduled, or that no cluster has, is ignored. At most 1000.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// Dispatch merges both forms: all says that every cluster is held back,
// clusters names those that are, sorted and without repetition. Where all is
// true, clusters is nil. A nil suspension holds nothing back.
func (s *Suspension) Dispatch() (all bool, clusters []string) {
	if s == nil {
		return false, nil
	}
	for _, held := range []*bool{s.Dispatching, s.SuspendDispatching} {
		if held != nil && *held {
			return true, nil
		}
	}
	for _, named := range []*SuspendClusters{s.DispatchingOnClusters, s.SuspendDispatchingOnClusters} {
		if named != nil {
			clusters = append(clusters, named.ClusterNames...)
		}
	}
	slices.Sort(clusters)
	return false, slices.Compact(clusters)
}
