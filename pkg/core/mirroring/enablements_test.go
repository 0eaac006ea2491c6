// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

func TestEnablements(t *testing.T) {
	type list = []clusterv1alpha1.APIEnablement
	of := func(gv string, names ...string) clusterv1alpha1.APIEnablement {
		e := clusterv1alpha1.APIEnablement{GroupVersion: gv}
		for _, n := range names {
			e.Resources = append(e.Resources, clusterv1alpha1.APIResource{Name: n, Kind: "Kind of " + n})
		}
		return e
	}
	var many []string
	for i := range MaxKinds + 1 {
		many = append(many, fmt.Sprintf("k%05d", i))
	}
	for sentence, tc := range map[string]struct {
		in   Kinds
		want list
		says string
	}{
		"sorted, and each once": {
			Kinds{Served: list{of("v1", "pods", "configmaps", "pods"), of("apps/v1", "deployments")}},
			list{of("apps/v1", "deployments"), of("v1", "configmaps", "pods")}, "True FullAPIEnablements",
		},
		"a group that could not be asked":  {Kinds{Served: list{of("v1", "pods")}, Partial: true}, list{of("v1", "pods")}, "False PartialAPIEnablements"},
		"a version without kinds":          {Kinds{Served: list{of("v1", "pods"), of("x.io/v1")}}, list{of("v1", "pods")}, "True FullAPIEnablements"},
		"a version that is named twice":    {Kinds{Served: list{of("v1", "pods"), of("v1", "nodes")}}, list{of("v1", "pods")}, "True FullAPIEnablements"},
		"nothing":                          {Kinds{}, nil, "False EmptyAPIEnablements"},
		"more than a Cluster lists":        {Kinds{Served: list{of("a.io/v1", many...), of("v1", "pods")}}, list{of("a.io/v1", many[:MaxKinds]...)}, "False PartialAPIEnablements"},
		"as many as a Cluster lists, just": {Kinds{Served: list{of("a.io/v1", many[:MaxKinds]...)}}, list{of("a.io/v1", many[:MaxKinds]...)}, "True FullAPIEnablements"},
	} {
		got, c := Enablements(tc.in)
		if len(got) == 0 {
			got = nil
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, d)
		}
		if says := string(c.Status) + " " + c.Reason; says != tc.says {
			t.Errorf("%s: %s, want %s", sentence, says, tc.says)
		}
	}
}
