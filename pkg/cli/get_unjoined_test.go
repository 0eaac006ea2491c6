// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sluice.dev/test/pipelinetest/fixture"
)

// Lines are told from what was reported. Where nobody reports any more, that is said.
func TestGetSaysWhichClustersNobodyReportsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		lost   []string
		status int
		want   string
	}{
		"all are joined":             {},
		"one is deleted":             {lost: []string{"member2"}, want: "Not joined: member2. "},
		"all are deleted":            {lost: fleet, want: "Not joined: member1, member2. "},
		"their kind is not served":   {status: 404, want: "The hub does not serve Clusters"},
		"the user may not list them": {status: 403},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			p := fixture.Policy("web").Kind().To("member1", "member2")
			hub.policy(p)
			hub.propagated(fixture.Deployment("one"), p)
			hub.propagated(fixture.Deployment("two"), p)
			for _, c := range tc.lost {
				hub.remove("cluster.karmada.io/v1alpha1/Cluster/" + c)
			}
			if tc.status != 0 {
				hub.refuse = failing("clusters", tc.status)
			}
			a := run(t, hub, "get", "deploy")
			a.wants(t, "")
			if said := strings.HasPrefix(a.err, tc.want) && (tc.want != "" || a.err == ""); !said || !strings.Contains(a.out, "2/2") {
				t.Errorf("it says %q, want %q\n%s", a.err, tc.want, a.out)
			}
			if quiet := run(t, hub, "get", "deploy", "-o", "json"); quiet.err != "" {
				t.Errorf("a program is told %q", quiet.err)
			}
		})
	}
	hub := serve(t, "hub").shop()
	hub.refuse = failing("clusters", 500)
	if a := run(t, hub, "get"); strings.Contains(a.out+a.err, "refused by the test") {
		t.Errorf("where nothing is propagated no Clusters are read: %s", a.err)
	}
}
