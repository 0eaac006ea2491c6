// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/test/pipelinetest/fixture"
)

// What would hold nothing back, or let nothing go, is not said to have done so.
func TestWordsThatNameNothingChangeNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a cluster that has not joined, of a template":   {[]string{"suspend", "deploy/nginx", "--cluster", "membr1"}, "cluster membr1 has not joined"},
		"a cluster that has not joined, of a placement":  {[]string{"suspend", "crp/shop", "--cluster", "membr1"}, "cluster membr1 has not joined"},
		"a Cluster is held back by nobody":               {[]string{"suspend", "clusters.cluster.karmada.io/member1"}, "is no template, so nothing of it is held back"},
		"a policy is resumed by who edits it":            {[]string{"resume", "pp/web"}, "edit its spec.suspension"},
		"a cluster that has not joined, of what is held": {[]string{"approve", "membr1"}, "cluster membr1 has not joined"},
		"what is explained has to be named":              {[]string{"explain"}, "KIND/NAME is missing"},
		"the kind that is granted has to be named":       {[]string{"grant"}, "KIND is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, _ := joined(t)
			hub.policy(fixture.Policy("web").Kind())
			before := hub.get("cluster.karmada.io/v1alpha1/Cluster/member1")
			run(t, hub, tc.args...).wants(t, tc.want)
			if d := cmp.Diff(before, hub.get("cluster.karmada.io/v1alpha1/Cluster/member1")); d != "" {
				t.Errorf("the Cluster changed: %s", d)
			}
		})
	}
}
