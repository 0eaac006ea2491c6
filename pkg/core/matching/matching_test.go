// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package matching_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// A kind is a group and a name. In which version it is named, or read, is no part of
// that, but what nobody serves selects nothing.
func TestSelectedKind(t *testing.T) {
	for sentence, tc := range map[string]struct {
		apiVersion, kind string
		notServed        bool
		want             matching.Mismatch
	}{
		"the version that was read":                           {"apps/v1", "Deployment", false, ""},
		"Z7 another version that is served":                   {"apps/v1beta1", "Deployment", false, ""},
		"Z14 the version it is known by, not served any more": {"apps/v1", "Deployment", true, ""},
		"Z1 a version that nobody serves":                     {"apps/v9", "Deployment", true, matching.KindNotServed},
		"Z1 another spelling":                                 {"apps/v1", "deployment", true, matching.OtherKind},
		"Z7 another group":                                    {"example.com/v1", "Deployment", false, matching.OtherKind},
		"Z1 no group":                                         {"v1", "Deployment", true, matching.OtherKind},
	} {
		for _, scope := range propagation.Scopes {
			p := fixture.ScopedPolicy(scope, "p").Selecting(policyv1alpha1.ResourceSelector{APIVersion: tc.apiVersion, Kind: tc.kind, Name: "nginx"}).Always().Policy()
			if tc.notServed {
				p.NotServed = []schema.GroupVersionKind{schema.FromAPIVersionAndKind(tc.apiVersion, tc.kind)}
			}
			if _, miss := matching.Select(p, fixture.Deployment("nginx").Template()); miss != tc.want {
				t.Errorf("%s, %s: %q, want %q", sentence, scope, miss, tc.want)
			}
		}
	}
}

// A kind is watched once, in a version that is served where any policy names one.
func TestKinds(t *testing.T) {
	selecting := func(apiVersion string) *propagation.Policy {
		return fixture.Policy(apiVersion).Selecting(policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: "Widget"}).Policy()
	}
	gone := selecting("example.com/v0")
	gone.NotServed = []schema.GroupVersionKind{{Group: "example.com", Version: "v0", Kind: "Widget"}}
	want := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for _, policies := range [][]*propagation.Policy{
		{gone, selecting("example.com/v1"), selecting("example.com/v2")},
		{selecting("example.com/v2"), selecting("example.com/v1"), gone},
	} {
		if got := matching.Kinds(policies); len(got) != 1 || got[0] != want {
			t.Errorf("%v, want %v alone", got, want)
		}
	}
	if got := matching.Kinds([]*propagation.Policy{gone}); len(got) != 1 {
		t.Errorf("what was named in a version that is not served any more is still watched: %v", got)
	}
}

// Sluice's own objects, of all groups, are never templates.
func TestOwnKindsAreNeverTemplates(t *testing.T) {
	for _, gvk := range []string{
		"policy.karmada.io/v1alpha1 PropagationPolicy", "work.karmada.io/v1alpha2 ResourceBinding", "cluster.karmada.io/v1alpha1 Cluster",
		"placement.kubernetes-fleet.io/v1 ClusterResourcePlacement", "cluster.kubernetes-fleet.io/v1 MemberCluster", "config.sluice.dev/v1alpha1 ResourceInterpreter",
	} {
		apiVersion, kind, _ := strings.Cut(gvk, " ")
		if why := matching.Exempt(propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Name: "x"}); why == "" {
			t.Errorf("%s may be a template", gvk)
		}
	}
}
