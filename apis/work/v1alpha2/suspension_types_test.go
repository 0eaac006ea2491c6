// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

func TestDispatch(t *testing.T) {
	yes := true
	tests := map[string]struct {
		suspension     *Suspension
		wantAll        bool
		wantClusters   []string
		wantScheduling bool
	}{
		"S10: nil holds nothing back":                 {},
		"S10: every cluster":                          {suspension: &Suspension{Dispatching: &yes}, wantAll: true},
		"S10: named clusters":                         {suspension: &Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"b", "a"}}}, wantClusters: []string{"a", "b"}},
		"S13: scheduling alone holds no cluster back": {suspension: &Suspension{Scheduling: &yes}, wantScheduling: true},
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
			if got := tc.suspension.SchedulingSuspended(); got != tc.wantScheduling {
				t.Errorf("scheduling suspended = %v, want %v", got, tc.wantScheduling)
			}
		})
	}
}
