// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"testing"
)

var bindingRows = map[string]row{
	"S10: the released form of a suspension is accepted":  {spec: `suspension: {dispatching: true}`},
	"S10: a list of clusters is accepted":                 {spec: `suspension: {dispatchingOnClusters: {clusterNames: [a]}}`},
	"S13: scheduling may be suspended on a binding":       {spec: `suspension: {scheduling: true}`},
	"S13: scheduling goes with any other suspension":      {spec: `suspension: {scheduling: true, dispatching: true}`},
	"S14: the seed's form is not served on a binding":     {spec: `suspension: {suspendDispatching: true}`, wantField: "spec.suspension.suspendDispatching", want: "unknown field"},
	"S7: true and names are rejected":                     {spec: `suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [a]}}`, wantField: "spec.suspension", want: coexist},
	"a binding needs a template":                          {spec: `resource: {apiVersion: v1, kind: Secret}`, wantField: "spec.resource.name", want: "Required"},
	"an eviction is bounded or suppressed, not both":      {spec: `gracefulEvictionTasks: [{fromCluster: a, producer: b, reason: C, gracePeriodSeconds: 3, suppressDeletion: true}]`, wantField: "spec.gracefulEvictionTasks[0].suppressDeletion", want: "cannot co-exist"},
	"the reason of an eviction is one word":               {spec: `gracefulEvictionTasks: [{fromCluster: a, producer: b, reason: because of this}]`, wantField: "spec.gracefulEvictionTasks[0].reason", want: "should match"},
	"a snapshot of a placement obeys the placement rules": {spec: `placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}`, wantField: "spec.placement.clusterAffinities", want: "cannot co-exist"},
}

func TestBindings(t *testing.T) {
	s := load(t)
	for name, tc := range bindingRows {
		for _, kind := range []string{"ResourceBinding", "ClusterResourceBinding"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				tc.check(t, s, func(t *testing.T, spec string) string {
					return object(t, "work.karmada.io/v1alpha2", kind, spec, "resource: {apiVersion: v1, kind: ConfigMap, name: a}")
				})
			})
		}
	}
}

func TestWorks(t *testing.T) {
	s := load(t)
	for name, tc := range map[string]row{
		"S12: suspendDispatching may be absent":  {spec: `workload: {manifests: []}`},
		"S12: suspendDispatching may be true":    {spec: `suspendDispatching: true`},
		"S12: suspendDispatching is not text":    {spec: `suspendDispatching: "yes"`, wantField: "spec.suspendDispatching", want: "must be of type boolean"},
		"any field of a manifest is kept":        {spec: `workload: {manifests: [{apiVersion: a/v1, kind: B, metadata: {name: c}, d: {e: [f]}}]}`},
		"a manifest needs a kind":                {spec: `workload: {manifests: [{apiVersion: v1, metadata: {name: a}}]}`, wantField: "spec.workload.manifests[0].kind", want: "Required"},
		"a manifest's metadata is an object's":   {spec: `workload: {manifests: [{apiVersion: v1, kind: A, metadata: {name: a, labels: {"b c": d}}}]}`, wantField: "spec.workload.manifests[0].metadata.labels", want: "name part must consist of"},
		"a manifest is an object":                {spec: `workload: {manifests: [xxx]}`, wantField: "spec.workload.manifests[0]", want: "must be of type object"},
		"a name as RBAC has them is a name here": {spec: `workload: {manifests: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:reader"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, s, func(t *testing.T, spec string) string {
				return object(t, "work.karmada.io/v1alpha1", "Work", spec, "")
			})
		})
	}
}
