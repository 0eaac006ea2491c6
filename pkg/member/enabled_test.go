// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/mirroring"
)

// All kinds come in two answers; a group that does not answer the member makes the list
// partial, and a member that is too old to list all at once is left alone.
func TestKindsOfAMember(t *testing.T) {
	const core = `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
  {"resource": "pods", "responseKind": {"kind": "Pod"}, "subresources": [{"subresource": "log"}]}, {"resource": "bindings"}]}]}]}`
	groups := func(freshness string) string {
		return `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "` + freshness + `",
  "resources": [{"resource": "deployments", "responseKind": {"kind": "Deployment"}}]}]}]}`
	}
	all := []clusterv1alpha1.APIEnablement{
		{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "pods", Kind: "Pod"}}},
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	for sentence, tc := range map[string]struct {
		groups string
		want   *mirroring.Kinds
	}{
		"all groups answer":           {groups("Current"), &mirroring.Kinds{Served: all}},
		"one does not":                {groups("Stale"), &mirroring.Kinds{Served: all, Partial: true}},
		"the member is too old":       {`{"kind": "APIGroupList"}`, nil},
		"the member answers nonsense": {`<html>`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			api := newFakeAPI(t)
			api.answer = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.URL.Path != "/api" && r.URL.Path != "/apis":
					return false
				case !strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList"):
					http.NotFound(w, r)
				case r.URL.Path == "/api":
					_, _ = io.WriteString(w, core)
				default:
					_, _ = io.WriteString(w, tc.groups)
				}
				return true
			}
			got, err := NewFleet(newSource(t, api)).Kinds(t.Context(), "member1")
			if (err == nil) != (tc.want != nil) {
				t.Errorf("the error is %v", err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}
