// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const crdDir = "../../config/300-crds"

func load(t *testing.T) *Server {
	t.Helper()
	s, err := Load(crdDir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// object makes the YAML of an object from its kind and the fields of its spec,
// of which rest holds those that a row does not set.
func object(t *testing.T, apiVersion, kind, spec, rest string) string {
	t.Helper()
	fields, base := map[string]any{}, map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(spec), &fields); err != nil {
		t.Fatalf("the row's YAML: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(rest), &base); err != nil {
		t.Fatal(err)
	}
	for key, value := range fields {
		base[key] = value
	}
	metadata := map[string]any{"name": "one"}
	if !strings.HasPrefix(kind, "Cluster") {
		metadata["namespace"] = "shop"
	}
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": base,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const oneSelector = `
resourceSelectors:
- apiVersion: apps/v1
  kind: Deployment
  name: nginx
`

var propagationKinds = []string{"PropagationPolicy", "ClusterPropagationPolicy"}

func propagation(t *testing.T, kind, spec string) string {
	t.Helper()
	return object(t, "policy.karmada.io/v1alpha1", kind, spec, oneSelector)
}

// row is a spec, or the change from one spec to another, and the field and the
// words of the error; no words mean that it is accepted.
type row struct {
	was, spec string
	wantField string
	want      string
}

func (r row) check(t *testing.T, s *Server, make func(t *testing.T, spec string) string) {
	t.Helper()
	var old map[string]any
	if r.was != "" {
		var errs error
		created, list := s.Create(make(t, r.was))
		if errs = list.ToAggregate(); errs != nil {
			t.Fatalf("the object to be changed is rejected: %v", errs)
		}
		old = created
	}
	_, errs := s.Create(make(t, r.spec))
	if old != nil {
		_, errs = s.Update(make(t, r.spec), old)
	}
	if r.want == "" {
		if len(errs) > 0 {
			t.Fatalf("rejected: %v", errs.ToAggregate())
		}
		return
	}
	for _, err := range errs {
		if err.Field == r.wantField && strings.Contains(err.Error(), r.want) {
			return
		}
	}
	t.Errorf("got %v, want an error at %s with %q", errs.ToAggregate(), r.wantField, r.want)
}

const nameNeeded = "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"

var propagationRows = map[string]row{
	"a policy without selectors is rejected":          {spec: `resourceSelectors: []`, wantField: "spec.resourceSelectors", want: "at least 1"},
	"a selector without a kind is rejected":           {spec: `resourceSelectors: [{apiVersion: v1}]`, wantField: "spec.resourceSelectors[0].kind", want: "Required"},
	"a selector with an empty apiVersion is rejected": {spec: `resourceSelectors: [{apiVersion: "", kind: Pod}]`, wantField: "spec.resourceSelectors[0].apiVersion", want: "at least 1 chars"},
	"a field that is not served is rejected":          {spec: `suspendScheduling: true`, wantField: "spec.suspendScheduling", want: "unknown field"},

	"L1: Lazy is accepted":                     {spec: `activationPreference: Lazy`},
	"L1: lazy in lower case is rejected":       {spec: `activationPreference: lazy`, wantField: "spec.activationPreference", want: `supported values: "", "Lazy"`},
	"L1: any other value is rejected":          {spec: `activationPreference: Eager`, wantField: "spec.activationPreference", want: `supported values: "", "Lazy"`},
	"L2: the field may be absent":              {spec: `priority: 1`},
	"L4: Lazy may be set at any time":          {was: `priority: 1`, spec: `activationPreference: Lazy`},
	"L4: Lazy may be removed at any time":      {was: `activationPreference: Lazy`, spec: `priority: 1`},
	"P1: a negative priority is accepted":      {spec: `priority: -10`},
	"P1: the smallest priority is accepted":    {spec: `priority: -2147483648`},
	"P1: a priority above 32 bits is rejected": {spec: `priority: 2147483648`, wantField: "spec.priority", want: "less than or equal to 2147483647"},
	"P1: a priority that is text is rejected":  {spec: `priority: high`, wantField: "spec.priority", want: "must be of type integer"},
	"P2: Always is accepted":                   {spec: `preemption: Always`},
	"P2: Never is accepted":                    {spec: `preemption: Never`},
	"P2: any other value is rejected":          {spec: `preemption: Sometimes`, wantField: "spec.preemption", want: "Unsupported value"},
	"P4: an old manifest is accepted":          {spec: `placement: {clusterAffinity: {clusterNames: [member1]}}`},

	"P34: Always with a selector by kind is rejected": {
		spec:      "preemption: Always\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]",
		wantField: "spec.resourceSelectors", want: nameNeeded,
	},
	"P34: Always with a selector by label is rejected": {
		spec:      "preemption: Always\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {a: b}}}]",
		wantField: "spec.resourceSelectors", want: nameNeeded,
	},
	"P36: Always with an empty name is rejected": {
		spec:      "preemption: Always\nresourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: ''}]",
		wantField: "spec.resourceSelectors", want: nameNeeded,
	},
	"P37: Always with one specific and one unspecific selector is rejected": {
		spec:      "preemption: Always\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: a}, {apiVersion: apps/v1, kind: Deployment}]",
		wantField: "spec.resourceSelectors", want: nameNeeded,
	},
	"P38: the same selectors with Never are accepted": {
		spec: "preemption: Never\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: a}, {apiVersion: apps/v1, kind: Deployment}]",
	},
	"P39: a change from Never to Always with unspecific selectors is rejected": {
		was:       "preemption: Never\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]",
		spec:      "preemption: Always\nresourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]",
		wantField: "spec.resourceSelectors", want: nameNeeded,
	},
	"P40: another schedulerName is rejected": {
		was: `schedulerName: mine`, spec: `schedulerName: yours`,
		wantField: "spec.schedulerName", want: "should not be updated",
	},
	"P40: dropping a schedulerName that is not the default is rejected": {
		was: `schedulerName: mine`, spec: `priority: 1`,
		wantField: "spec.schedulerName", want: "should not be updated",
	},
	"P40: writing out the default schedulerName is accepted": {was: `priority: 1`, spec: `schedulerName: default-scheduler`},

	"an unknown conflictResolution is rejected": {spec: `conflictResolution: Merge`, wantField: "spec.conflictResolution", want: "Unsupported value"},
	"an unknown priorityClassSource is rejected": {
		spec:      `schedulePriority: {priorityClassSource: PodPriorityClass, priorityClassName: a}`,
		wantField: "spec.schedulePriority.priorityClassSource", want: "Unsupported value",
	},
}

const (
	coexist       = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
	disagree      = "dispatching and suspendDispatching are two names of one field and must agree"
	disagreeNames = "dispatchingOnClusters and suspendDispatchingOnClusters are two names of one field and must agree"
)

var suspensionRows = map[string]row{
	"S1: no suspension is accepted":                    {spec: `priority: 1`},
	"S3: the seed's name is accepted":                  {spec: `suspension: {suspendDispatching: true}`},
	"S3: the released name is accepted":                {spec: `suspension: {dispatching: true}`},
	"S4: false is accepted":                            {spec: `suspension: {suspendDispatching: false}`},
	"S5: an empty suspension is accepted":              {spec: `suspension: {}`},
	"S6: the seed's list is accepted":                  {spec: `suspension: {suspendDispatchingOnClusters: {clusterNames: [member2, member3]}}`},
	"S6: the released list is accepted":                {spec: `suspension: {dispatchingOnClusters: {clusterNames: [member2, member3]}}`},
	"S7: true and names are rejected (released)":       {spec: `suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [member1]}}`, wantField: "spec.suspension", want: coexist},
	"S7: true and names are rejected (seed)":           {spec: `suspension: {suspendDispatching: true, suspendDispatchingOnClusters: {clusterNames: [member1]}}`, wantField: "spec.suspension", want: coexist},
	"S7: true and names are rejected (released, seed)": {spec: `suspension: {dispatching: true, suspendDispatchingOnClusters: {clusterNames: [member1]}}`, wantField: "spec.suspension", want: coexist},
	"S7: true and names are rejected (seed, released)": {spec: `suspension: {suspendDispatching: true, dispatchingOnClusters: {clusterNames: [member1]}}`, wantField: "spec.suspension", want: coexist},
	"S7: false and names are accepted (released)":      {spec: `suspension: {dispatching: false, dispatchingOnClusters: {clusterNames: [member1]}}`},
	"S7: false and names are accepted (seed)":          {spec: `suspension: {suspendDispatching: false, suspendDispatchingOnClusters: {clusterNames: [member1]}}`},
	"S7: false and names are accepted (mixed)":         {spec: `suspension: {suspendDispatching: false, dispatchingOnClusters: {clusterNames: [member1]}}`},
	"S7: true and an empty list are accepted":          {spec: `suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: []}}`},
	"S7: true and an empty selection are accepted":     {spec: `suspension: {suspendDispatching: true, suspendDispatchingOnClusters: {}}`},
	"S8: there is no label selector for clusters": {
		spec:      `suspension: {dispatchingOnClusters: {labelSelector: {matchLabels: {a: b}}}}`,
		wantField: "spec.suspension.dispatchingOnClusters.labelSelector", want: "unknown field",
	},
	"S13: scheduling is not offered on a policy": {
		spec: `suspension: {scheduling: true}`, wantField: "spec.suspension.scheduling", want: "unknown field",
	},
	"S14: both names with one value are accepted": {spec: `suspension: {dispatching: true, suspendDispatching: true}`},
	"S14: both names with two values are rejected": {
		spec: `suspension: {dispatching: false, suspendDispatching: true}`, wantField: "spec.suspension.suspendDispatching", want: disagree,
	},
	"S14: both lists with the same clusters are accepted": {
		spec: `suspension: {dispatchingOnClusters: {clusterNames: [a, b, a]}, suspendDispatchingOnClusters: {clusterNames: [b, a]}}`,
	},
	"S14: both lists with other clusters are rejected": {
		spec:      `suspension: {dispatchingOnClusters: {clusterNames: [a]}, suspendDispatchingOnClusters: {clusterNames: [b, a]}}`,
		wantField: "spec.suspension.suspendDispatchingOnClusters", want: disagreeNames,
	},
	"S14: a list and an empty list are rejected": {
		spec:      `suspension: {dispatchingOnClusters: {clusterNames: [a]}, suspendDispatchingOnClusters: {}}`,
		wantField: "spec.suspension.suspendDispatchingOnClusters", want: disagreeNames,
	},
	"Y2: a suspension may be lifted": {was: `suspension: {dispatching: true}`, spec: `priority: 1`},
}

func TestPropagationPolicies(t *testing.T) {
	s := load(t)
	for _, rows := range []map[string]row{propagationRows, suspensionRows, placementRows, failoverRows} {
		for name, tc := range rows {
			for _, kind := range propagationKinds {
				t.Run(kind+"/"+name, func(t *testing.T) {
					tc.check(t, s, func(t *testing.T, spec string) string { return propagation(t, kind, spec) })
				})
			}
		}
	}
}

func TestDefaultsOfPropagationPolicies(t *testing.T) {
	s := load(t)
	for _, kind := range propagationKinds {
		t.Run(kind, func(t *testing.T) {
			got, errs := s.Create(propagation(t, kind, "failover: {application: {decisionConditions: {}}, cluster: {}}\nplacement: {replicaScheduling: {}}"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			spec := got["spec"].(map[string]any)
			delete(spec, "resourceSelectors")
			want := map[string]any{
				"priority":           int64(0),                                                                                // P1
				"preemption":         "Never",                                                                                 // P2
				"schedulerName":      "default-scheduler",                                                                     // P40
				"conflictResolution": "Abort",                                                                                 // P4
				"placement":          map[string]any{"replicaScheduling": map[string]any{"replicaSchedulingType": "Divided"}}, // as released
				"failover": map[string]any{
					"application": map[string]any{
						"decisionConditions": map[string]any{"tolerationSeconds": int64(300)},
						"purgeMode":          "Gracefully",
					},
					"cluster": map[string]any{"purgeMode": "Gracefully"},
				},
				// L2, S1: no activationPreference and no suspension.
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("defaults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAThousandSelectorsAreAcceptedAndNoMore(t *testing.T) {
	s := load(t)
	selectors := func(n int) string {
		var b strings.Builder
		b.WriteString("preemption: Always\nresourceSelectors:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {apiVersion: apps/v1, kind: Deployment, name: app-%d}\n", i)
		}
		return b.String()
	}
	for _, kind := range propagationKinds {
		for _, tc := range map[string]row{
			"100":  {spec: selectors(100)},
			"1000": {spec: selectors(1000)},
			"1001": {spec: selectors(1001), wantField: "spec.resourceSelectors", want: "at most 1000"},
		} {
			tc.check(t, s, func(t *testing.T, spec string) string { return propagation(t, kind, spec) })
		}
	}
}

func TestAThousandClustersMayBeSuspendedByBothNames(t *testing.T) {
	s := load(t)
	names := func(from, to, step int) string {
		var all []string
		for i := from; i != to; i += step {
			all = append(all, fmt.Sprintf("a-member-with-quite-a-long-name-number-%d", i))
		}
		return strings.Join(all, ", ")
	}
	for name, tc := range map[string]struct{ one, other string }{
		"1000 in the same order":    {one: names(0, 1000, 1), other: names(0, 1000, 1)},
		"250 in the opposite order": {one: names(0, 250, 1), other: names(249, -1, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fmt.Sprintf("suspension: {dispatchingOnClusters: {clusterNames: [%s]}, suspendDispatchingOnClusters: {clusterNames: [%s]}}", tc.one, tc.other)
			row{spec: spec}.check(t, s, func(t *testing.T, spec string) string {
				return propagation(t, "PropagationPolicy", spec)
			})
		})
	}
}
