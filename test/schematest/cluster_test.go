// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"strings"
	"testing"
)

func TestClusters(t *testing.T) {
	s := load(t)
	for name, tc := range map[string]row{
		"Push is accepted":                      {spec: `syncMode: Push`},
		"Pull is accepted":                      {spec: `syncMode: Pull`},
		"a syncMode is needed":                  {spec: `provider: acme`, wantField: "spec.syncMode", want: "Required"},
		"an unknown syncMode is rejected":       {spec: `syncMode: Both`, wantField: "spec.syncMode", want: "Unsupported value"},
		"a Secret has a namespace":              {spec: `{syncMode: Push, secretRef: {name: a}}`, wantField: "spec.secretRef.namespace", want: "Required"},
		"a taint of another effect is rejected": {spec: `{syncMode: Push, taints: [{key: a, effect: Evict}]}`, wantField: "spec.taints", want: "effect must be"},
		"a grade is not negative":               {spec: `{syncMode: Push, resourceModels: [{grade: -1, ranges: []}]}`, wantField: "spec.resourceModels[0].grade", want: "greater than or equal to 0"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, s, func(t *testing.T, spec string) string {
				return object(t, "cluster.karmada.io/v1alpha1", "Cluster", spec, "")
			})
		})
	}
}

func TestNamesOfClusters(t *testing.T) {
	s := load(t)
	for name, tc := range map[string]struct {
		cluster string
		ok      bool
	}{
		"a DNS label is accepted":           {cluster: "member-1", ok: true},
		"48 characters are accepted":        {cluster: strings.Repeat("a", 48), ok: true},
		"49 characters are rejected":        {cluster: strings.Repeat("a", 49)},
		"a dot is rejected":                 {cluster: "member.1"},
		"a hyphen at the end is rejected":   {cluster: "member-"},
		"a hyphen at the start is rejected": {cluster: "-member"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := s.Create("{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: \"" + tc.cluster + "\"}, spec: {syncMode: Push}}")
			if ok := len(errs) == 0; ok != tc.ok {
				t.Errorf("accepted = %v, want %v: %v", ok, tc.ok, errs.ToAggregate())
			}
		})
	}
}
