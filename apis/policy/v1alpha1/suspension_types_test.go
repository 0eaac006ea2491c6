// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDispatch(t *testing.T) {
	yes, no := true, false
	named := func(names ...string) *SuspendClusters { return &SuspendClusters{ClusterNames: names} }

	tests := map[string]struct {
		suspension   *Suspension
		wantAll      bool
		wantClusters []string
	}{
		"S1: nil holds nothing back":                     {suspension: nil},
		"S5: an empty struct holds nothing back":         {suspension: &Suspension{}},
		"S4: false holds nothing back":                   {suspension: &Suspension{Dispatching: &no, SuspendDispatching: &no}},
		"S3: the released name holds every cluster back": {suspension: &Suspension{Dispatching: &yes}, wantAll: true},
		"S3: the seed's name holds every cluster back":   {suspension: &Suspension{SuspendDispatching: &yes}, wantAll: true},
		"S6: the released list is sorted and without repetition": {
			suspension:   &Suspension{DispatchingOnClusters: named("member3", "member2", "member3")},
			wantClusters: []string{"member2", "member3"},
		},
		"S6: the seed's list is read too": {
			suspension:   &Suspension{SuspendDispatchingOnClusters: named("member3", "member2")},
			wantClusters: []string{"member2", "member3"},
		},
		"S14: both lists are merged": {
			suspension: &Suspension{
				DispatchingOnClusters:        named("member1", "member2"),
				SuspendDispatchingOnClusters: named("member2", "member3"),
			},
			wantClusters: []string{"member1", "member2", "member3"},
		},
		"S7: false with names holds the named back": {
			suspension:   &Suspension{Dispatching: &no, DispatchingOnClusters: named("member1")},
			wantClusters: []string{"member1"},
		},
		"S7: every cluster includes the named ones": {
			suspension: &Suspension{Dispatching: &yes, DispatchingOnClusters: named()},
			wantAll:    true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			all, clusters := tc.suspension.Dispatch()
			if all != tc.wantAll {
				t.Errorf("all = %v, want %v", all, tc.wantAll)
			}
			if diff := cmp.Diff(tc.wantClusters, clusters); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDispatchLeavesTheListsAlone(t *testing.T) {
	list := &SuspendClusters{ClusterNames: []string{"member2", "member1"}}
	(&Suspension{DispatchingOnClusters: list}).Dispatch()
	if diff := cmp.Diff([]string{"member2", "member1"}, list.ClusterNames); diff != "" {
		t.Errorf("list changed (-want +got):\n%s", diff)
	}
}
