// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"testing"
)

var overrideRows = map[string]row{
	"an empty policy is accepted":        {spec: `{}`},
	"the deprecated fields are accepted": {spec: `{targetCluster: {clusterNames: [a]}, overriders: {plaintext: [{path: /a, operator: remove}]}}`},
	"overrideRules and targetCluster exclude each other": {
		spec:      `{overrideRules: [{overriders: {}}], targetCluster: {clusterNames: [a]}}`,
		wantField: "spec.targetCluster", want: "overrideRules and targetCluster can't co-exist",
	},
	"a rule without overriders is rejected": {
		spec: `overrideRules: [{}]`, wantField: "spec.overrideRules[0].overriders", want: "Required",
	},
	"any JSON is a value": {
		spec: `overrideRules: [{overriders: {plaintext: [{path: /a, operator: add, value: [1, {b: c}, null]}]}}]`,
	},
	"an unknown operator is rejected": {
		spec:      `overrideRules: [{overriders: {plaintext: [{path: /a, operator: update, value: 1}]}}]`,
		wantField: "spec.overrideRules[0].overriders.plaintext[0].operator", want: "Unsupported value",
	},
	"a command cannot be replaced": {
		spec:      `overrideRules: [{overriders: {commandOverrider: [{containerName: a, operator: replace}]}}]`,
		wantField: "spec.overrideRules[0].overriders.commandOverrider[0].operator", want: "Unsupported value",
	},
	"an unknown part of an image is rejected": {
		spec:      `overrideRules: [{overriders: {imageOverrider: [{component: Digest, operator: remove}]}}]`,
		wantField: "spec.overrideRules[0].overriders.imageOverrider[0].component", want: "Unsupported value",
	},
	"a document is JSON or YAML, not both": {
		spec: `overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /data/a,
			json: [{subPath: /b, operator: remove}], yaml: [{subPath: /b, operator: remove}]}]}}]`,
		wantField: "spec.overrideRules[0].overriders.fieldOverrider[0]", want: "Only one is allowed",
	},
	"a fieldPath is a JSON pointer": {
		spec:      `overrideRules: [{overriders: {fieldOverrider: [{fieldPath: data.a}]}}]`,
		wantField: "spec.overrideRules[0].overriders.fieldOverrider[0].fieldPath", want: "should match",
	},
	"a target by another field is rejected": {
		spec:      `overrideRules: [{overriders: {}, targetCluster: {fieldSelector: {matchExpressions: [{key: a, operator: In}]}}}]`,
		wantField: "spec.overrideRules[0].targetCluster.fieldSelector.matchExpressions", want: "key must be",
	},
}

func TestOverridePolicies(t *testing.T) {
	s := load(t)
	for name, tc := range overrideRows {
		for _, kind := range []string{"OverridePolicy", "ClusterOverridePolicy"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				tc.check(t, s, func(t *testing.T, spec string) string {
					return object(t, "policy.karmada.io/v1alpha1", kind, spec, "")
				})
			})
		}
	}
}
