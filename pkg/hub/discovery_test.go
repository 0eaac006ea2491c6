// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
)

// widgets is an API server that serves the kind Widget in some versions, the preferred
// one first; none: it is down.
func widgets(t *testing.T, versions ...string) *Hub {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(versions) == 0 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		var answer any
		if r.URL.Path == "/apis/example.org" {
			g := metav1.APIGroup{PreferredVersion: metav1.GroupVersionForDiscovery{Version: versions[0]}}
			for _, v := range versions {
				g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{Version: v})
			}
			answer = g
		}
		for _, v := range versions {
			if strings.HasSuffix(r.URL.Path, "/"+v) {
				answer = metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true}}}
			}
		}
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	h, err := Connect(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A binding's owner is asked for by the hub's garbage collector, in the version that
// is written there: one that drops out would have it delete the binding.
func TestZ14ABindingIsOwnedInTheVersionThatLasts(t *testing.T) {
	for sentence, tc := range map[string]struct {
		served []string
		want   string
	}{
		"the preferred version":            {[]string{"v1", "v1beta1"}, "example.org/v1"},
		"the only one":                     {[]string{"v1beta1"}, "example.org/v1beta1"},
		"its own, where nobody can say":    {nil, "example.org/v1beta1"},
		"the preferred one where it is v2": {[]string{"v2", "v1", "v1beta1"}, "example.org/v2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := widgets(t, tc.served...)
			b := &propagation.Binding{}
			b.Spec.Resource.APIVersion, b.Spec.Resource.Kind = "example.org/v1beta1", "Widget"
			b.Spec.Resource.Name, b.Spec.Resource.UID = "one", "u"
			if owners := h.templateOwner(b); len(owners) != 1 || owners[0].APIVersion != tc.want || owners[0].UID != "u" {
				t.Errorf("owned by %v, want %s", owners, tc.want)
			}
		})
	}
}
