// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

func TestExecutionNamespaces(t *testing.T) {
	if got := ExecutionNamespace("member1"); got != "karmada-es-member1" {
		t.Errorf("namespace = %s", got)
	}
	tests := map[string]struct {
		namespace, want string
		wantOK          bool
	}{
		"a namespace of Works has a cluster": {namespace: "karmada-es-member1", want: "member1", wantOK: true},
		"another namespace has none":         {namespace: "default"},
		"the prefix alone has none":          {namespace: "karmada-es-"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, ok := ClusterOf(tc.namespace)
			if ok != tc.wantOK || cluster != tc.want {
				t.Errorf("cluster, ok = %q, %v, want %q, %v", cluster, ok, tc.want, tc.wantOK)
			}
		})
	}
}
