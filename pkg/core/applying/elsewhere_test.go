// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

func TestElsewhere(t *testing.T) {
	of := func(name string) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"sluice.dev/applier": name}}}
	}
	for sentence, tc := range map[string]struct {
		cluster *clusterv1alpha1.Cluster
		want    string
	}{
		"a Cluster names an applier":          {of("edge"), "edge"},
		"a Cluster names none":                {&clusterv1alpha1.Cluster{}, ""},
		"the Cluster is gone":                 {nil, ""},
		"what is no name is none":             {of("Edge of the world"), ""},
		"nor is what is too long for a label": {of("a0123456789012345678901234567890123456789012345678901234567890123"), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Elsewhere(tc.cluster); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
