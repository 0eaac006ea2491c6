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

// A policy that is being deleted selects nothing, which matters only of what it would select.
func TestAPolicyThatIsBeingDeletedSelectsNothing(t *testing.T) {
	nginx := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "nginx"}
	other := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "other"}
	elsewhere := fixture.Policy("p").Selecting(nginx).Policy()
	elsewhere.Key.Namespace = "another"
	for sentence, tc := range map[string]struct {
		policy *propagation.Policy
		want   matching.Mismatch
	}{
		"it would select it":      {fixture.Policy("p").Selecting(nginx).Policy(), matching.PolicyDeleting},
		"or another":              {fixture.Policy("p").Selecting(other).Policy(), matching.OtherName},
		"or in another namespace": {elsewhere, matching.OtherNamespace},
	} {
		tc.policy.Deleting = true
		if _, miss := matching.Select(tc.policy, fixture.Deployment("nginx").Template()); miss != tc.want {
			t.Errorf("%s: %q, want %q", sentence, miss, tc.want)
		}
	}
}

// What waits without a binding is known by the version in which it was found, whichever the
// hub serves by now, as long as its policy names that and nobody changed it.
func TestZ14WhatWaitsIsKnownByTheVersionItWasFoundIn(t *testing.T) {
	naming := func(versions ...string) *propagation.Policy {
		var all []policyv1alpha1.ResourceSelector
		for _, v := range versions {
			all = append(all, policyv1alpha1.ResourceSelector{APIVersion: v, Kind: "Deployment"})
		}
		return fixture.Policy("p").Lazy().Selecting(all...).Policy()
	}
	found := propagation.NewBaseline(fixture.Deployment("nginx").Template().As("apps/v1beta1"))
	for sentence, tc := range map[string]struct {
		policy   *propagation.Policy
		template fixture.TemplateBuilder
		baseline propagation.Baseline
		want     string
	}{
		"read in another version":                     {naming("apps/v1", "apps/v1beta1"), fixture.Deployment("nginx"), found, "apps/v1beta1"},
		"the policy does not name that version":       {naming("apps/v1"), fixture.Deployment("nginx"), found, "apps/v1"},
		"somebody changed it":                         {naming("apps/v1", "apps/v1beta1"), fixture.Deployment("nginx").Replicas(7), found, "apps/v1"},
		"it does not wait":                            {naming("apps/v1", "apps/v1beta1"), fixture.Deployment("nginx"), "", "apps/v1"},
		"it was found in the version that it is read": {naming("apps/v1beta1", "apps/v1"), fixture.Deployment("nginx"), propagation.NewBaseline(fixture.Deployment("nginx").Template()), "apps/v1"},
	} {
		read := tc.template.Template()
		read.Baseline = tc.baseline
		got := matching.Waiting(tc.policy, read)
		if same := got.Hash == tc.baseline.Hash(); got.Key.APIVersion != tc.want || same != (tc.want == "apps/v1beta1" || tc.baseline.Hash() == read.Hash) {
			t.Errorf("%s: known by %s, with the content that it was found with: %t; want %s", sentence, got.Key.APIVersion, same, tc.want)
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
