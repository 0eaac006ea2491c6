// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAWatchThatIsTooFarBehindHasToList(t *testing.T) {
	s, maps := newStore(), kinds[3]
	for n := range 3 * remembered {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetName(fmt.Sprint("c", n%10))
		if _, err := s.put(maps, u); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, ok := s.since(5); ok {
		t.Error("changes were told that are forgotten")
	}
	for _, behind := range []uint64{0, 1, remembered} {
		changes, now, _, ok := s.since(s.version - behind)
		if !ok || uint64(len(changes)) != behind || now != s.version {
			t.Errorf("%d behind: %d changes, now %d, %v", behind, len(changes), now, ok)
		}
	}
	if len(s.log) >= 2*remembered {
		t.Errorf("%d changes are kept", len(s.log))
	}
}

func TestAPathNamesATarget(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/configmaps":                                "configmaps  ",
		"/api/v1/namespaces/a/configmaps/b":                 "configmaps a b",
		"/api/v1/namespaces/a":                              "namespaces  a",
		"/api/v1/namespaces/a/status":                       "namespaces  a",
		"/apis/apps/v1/namespaces/a/deployments/b":          "deployments a b",
		"/apis/apps/v1/namespaces/a/replicasets":            "",
		"/apis/apps/v2/namespaces/a/deployments":            "",
		"/api/v1/namespaces/a/configmaps/b/status":          "",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/r": "clusterroles  r",
		"/api/v1/configmaps/b":                              "",
		"/":                                                 "",
	} {
		got := ""
		if parsed, ok := parse(path); ok {
			got = parsed.resource + " " + parsed.namespace + " " + parsed.name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
