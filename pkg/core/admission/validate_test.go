// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

const (
	nameNeeded      = "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"
	namespaceNeeded = "namespace cannot be empty if preemption is Always, the empty namespace may cause unexpected resources preemption"
)

var (
	scopes = admission.Scopes{
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                       propagation.Namespaced,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}: propagation.Cluster,
	}
	unknown   = policyv1alpha1.ResourceSelector{APIVersion: "example.org/v1", Kind: "Widget", Namespace: "shop", Name: "w"}
	malformed = policyv1alpha1.ResourceSelector{APIVersion: "a/b/c", Kind: "Widget", Namespace: "shop", Name: "w"}
	bad       = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is", Values: []string{"b"}}}}
)

func clusterRole(name string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name}
}

func byLabel(l *metav1.LabelSelector) func(*admission.Policy) {
	s := deployment("shop", "")
	s.LabelSelector = l
	return selecting(s)
}

func scheduler(name string) func(*admission.Policy) {
	return spec(func(s *policyv1alpha1.PropagationSpec) { s.SchedulerName = name })
}

func prioritised(n int32) func(*admission.Policy) {
	return spec(func(s *policyv1alpha1.PropagationSpec) { s.Priority = &n })
}

// want is a fault: its field, and words of its detail.
type want struct{ field, words string }

func diffFaults(got []admission.Fault, wanted []want) string {
	var fields, wantFields []string
	for i, f := range got {
		if i < len(wanted) && !strings.Contains(f.Detail, wanted[i].words) {
			return fmt.Sprintf("%s: %q has no %q", f.Field, f.Detail, wanted[i].words)
		}
		fields = append(fields, f.Field)
	}
	for _, w := range wanted {
		wantFields = append(wantFields, w.field)
	}
	return cmp.Diff(wantFields, fields)
}

// validation is a row: what stands, what is sent, what is wrong with it.
type validation struct {
	// scopes of the policy; none: both.
	scopes []propagation.Scope
	// old is what stood; nil: nothing did.
	old  edits
	sent edits
	want []want
}

var (
	policies        = []propagation.Scope{propagation.Namespaced}
	clusterPolicies = []propagation.Scope{propagation.Cluster}
)

var preemptionRows = map[string]validation{
	"P3 a specific policy with Always is accepted, whatever the gates":        {sent: edits{always}},
	"P4 an old manifest is accepted":                                          {sent: edits{}},
	"ST2 ST3 an old policy with preemption is accepted":                       {old: edits{stored, always}, sent: edits{stored, always, prioritised(2)}},
	"P34 P35 Always with a selector by kind is rejected":                      {sent: edits{always, selecting(deployment("shop", ""))}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"P34 P35 Always with a selector by label is rejected":                     {sent: edits{always, byLabel(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}})}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"P34 a namespaced policy needs no namespace":                              {scopes: policies, sent: edits{always, selecting(deployment("", "nginx"))}},
	"P34 nor does its kind have to be known":                                  {scopes: policies, sent: edits{always, selecting(unknown)}},
	"P35 Always without a namespace is rejected":                              {scopes: clusterPolicies, sent: edits{always, selecting(deployment("", "nginx"))}, want: []want{{"spec.resourceSelectors[0].namespace", namespaceNeeded}}},
	"P35 Always with neither is rejected for both":                            {scopes: clusterPolicies, sent: edits{always, selecting(deployment("", ""))}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}, {"spec.resourceSelectors[0].namespace", namespaceNeeded}}},
	"P36 Always for a cluster-scoped kind needs the name alone":               {scopes: clusterPolicies, sent: edits{always, selecting(clusterRole("admin"))}},
	"P36 Always for a cluster-scoped kind without a name is rejected":         {scopes: clusterPolicies, sent: edits{always, selecting(clusterRole(""))}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"P35 P36 Always for a kind that the hub does not serve is rejected":       {scopes: clusterPolicies, sent: edits{always, selecting(unknown)}, want: []want{{"spec.resourceSelectors[0].kind", "serves no kind Widget of example.org/v1"}}},
	"P35 P36 Always for a malformed apiVersion is rejected":                   {scopes: clusterPolicies, sent: edits{always, selecting(malformed)}, want: []want{{"spec.resourceSelectors[0].kind", "serves no kind Widget of a/b/c"}}},
	"P37 one specific and one unspecific selector are rejected":               {sent: edits{always, selecting(deployment("shop", "a"), deployment("shop", ""))}, want: []want{{"spec.resourceSelectors[1].name", nameNeeded}}},
	"P38 the same selectors with Never are accepted":                          {sent: edits{selecting(deployment("shop", "a"), deployment("shop", ""))}},
	"P38 so is a kind that nobody knows":                                      {scopes: clusterPolicies, sent: edits{selecting(unknown)}},
	"P39 a change from Never to Always with unspecific selectors is rejected": {old: edits{stored, selecting(deployment("shop", ""))}, sent: edits{stored, always, selecting(deployment("shop", ""))}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"P39 a change of the selectors to unspecific ones is rejected":            {old: edits{stored, always}, sent: edits{stored, always, selecting(deployment("shop", ""))}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"P39 a change from Always to Never is accepted":                           {old: edits{stored, always, selecting(deployment("shop", ""))}, sent: edits{stored, selecting(deployment("shop", ""))}},
	"P39 what was let in unseen is judged with its next change":               {old: edits{stored, always, selecting(deployment("shop", ""))}, sent: edits{stored, always, selecting(deployment("shop", "")), prioritised(5)}, want: []want{{"spec.resourceSelectors[0].name", nameNeeded}}},
	"what was let in unseen can be labelled, for its spec is as it was":       {old: edits{stored, always, selecting(deployment("shop", ""))}, sent: edits{stored, labelled("uid"), always, selecting(deployment("shop", ""))}},
	"a default alone is no change of the spec":                                {scopes: policies, old: edits{stored, always, selecting(deployment("", ""))}, sent: edits{stored, always, selecting(deployment("shop", ""))}},
	"what was let in unseen can be deleted: its finalizers may be taken":      {old: edits{stored, always, selecting(deployment("shop", ""))}, sent: edits{stored, always, selecting(deployment("shop", ""), deployment("shop", "")), func(p *admission.Policy) { p.Deleting = true }}},
	"P1 a priority may be changed at any time, and be negative":               {old: edits{stored}, sent: edits{stored, prioritised(-10)}},
	"L4 Lazy may be set at any time":                                          {old: edits{stored}, sent: edits{stored, lazy}},
	"L4 Lazy may be removed at any time":                                      {old: edits{stored, lazy}, sent: edits{stored}},
	"L4 Lazy may come with Always":                                            {sent: edits{lazy, always}},
	"S5 an empty suspension is accepted":                                      {sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) { s.Suspension = &policyv1alpha1.Suspension{} })}},
	"S25 the suspension may be changed at any time":                           {old: edits{stored}, sent: edits{stored, spec(func(s *policyv1alpha1.PropagationSpec) { s.Suspension = &policyv1alpha1.Suspension{} })}},
}

var otherRows = map[string]validation{
	"P40 a selector of another namespace is rejected":                 {scopes: policies, sent: edits{selecting(deployment("other", "nginx"))}, want: []want{{"spec.resourceSelectors[0].namespace", `leave it out, or write "shop"`}}},
	"P40 an update to another namespace is rejected":                  {scopes: policies, old: edits{stored}, sent: edits{stored, selecting(deployment("shop", "nginx"), deployment("other", "nginx"))}, want: []want{{"spec.resourceSelectors[1].namespace", "its own namespace only"}}},
	"a cluster policy selects in any namespace":                       {scopes: clusterPolicies, sent: edits{selecting(deployment("other", "nginx"), deployment("", ""))}},
	"P40 another schedulerName is rejected":                           {old: edits{stored, scheduler("mine")}, sent: edits{stored, scheduler("yours")}, want: []want{{"spec.schedulerName", "the schedulerName should not be updated"}}},
	"P40 writing out the default schedulerName is accepted":           {old: edits{stored}, sent: edits{stored, scheduler("default-scheduler")}},
	"P40 another permanent id is rejected":                            {old: edits{stored, labelled("mine")}, sent: edits{stored, labelled("yours")}, want: []want{{"metadata.labels[LABEL]", `it can only be set by the system during creation: leave it out, or keep it "mine"`}}},
	"P40 an id is not given to a policy that has its UID for one":     {old: edits{stored}, sent: edits{stored, labelled("forged")}, want: []want{{"metadata.labels[LABEL]", `keep it "uid"`}}},
	"P40 dropping the id is rejected where nobody restored it":        {old: edits{stored, labelled("mine")}, sent: edits{stored}, want: []want{{"metadata.labels[LABEL]", "is immutable"}}},
	"a policy made while nobody answered may get its UID for a label": {old: edits{stored}, sent: edits{stored, labelled("uid")}},
	"an update that leaves out the UID is accepted":                   {old: edits{stored}, sent: edits{}},
	"a policy made while nobody answered is accepted without a label": {sent: edits{}},
	"a label selector's operator that does not exist is rejected":     {sent: edits{byLabel(bad)}, want: []want{{"spec.resourceSelectors[0].labelSelector", `"Is" is not a valid label selector operator`}}},
	"a label selector that is empty is accepted":                      {sent: edits{byLabel(&metav1.LabelSelector{})}},
	"a bad label selector of clusters is rejected": {sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
		s.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: bad}
	})}, want: []want{{"spec.placement.clusterAffinity.labelSelector", "Is"}}},
	"a bad label selector of one of several affinities is rejected": {sent: edits{spec(func(s *policyv1alpha1.PropagationSpec) {
		s.Placement.ClusterAffinities = []policyv1alpha1.ClusterAffinityTerm{{AffinityName: "a"}, {AffinityName: "b", ClusterAffinity: policyv1alpha1.ClusterAffinity{LabelSelector: bad}}}
	})}, want: []want{{"spec.placement.clusterAffinities[1].labelSelector", "Is"}}},
	"a bad label selector of a weight is rejected":                        {sent: edits{spec(weighing(bad))}, want: []want{{"spec.placement.replicaScheduling.weightPreference.staticWeightList[0].targetCluster.labelSelector", "Is"}}},
	"a good label selector of a weight is accepted":                       {sent: edits{spec(weighing(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}))}},
	"everything that is wrong is said at once":                            {scopes: policies, old: edits{stored, labelled("mine")}, sent: edits{stored, labelled("yours"), always, selecting(deployment("other", ""))}, want: []want{{"metadata.labels[LABEL]", "immutable"}, {"spec.resourceSelectors[0].namespace", "own namespace"}, {"spec.resourceSelectors[0].name", nameNeeded}}},
	"a thousand selectors are judged one by one":                          {sent: edits{always, selecting(slices.Repeat([]policyv1alpha1.ResourceSelector{deployment("shop", "a")}, 1000)...)}},
	"a policy that is being deleted may lose its id: nothing of it lasts": {old: edits{stored, labelled("mine")}, sent: edits{stored, func(p *admission.Policy) { p.Deleting = true }}},
}

func weighing(l *metav1.LabelSelector) func(*policyv1alpha1.PropagationSpec) {
	return func(s *policyv1alpha1.PropagationSpec) {
		s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{WeightPreference: &policyv1alpha1.ClusterPreferences{
			StaticWeightList: []policyv1alpha1.StaticClusterWeight{{TargetCluster: policyv1alpha1.ClusterAffinity{LabelSelector: l}, Weight: 1}},
		}}
	}
}

func TestValidate(t *testing.T) {
	for _, table := range []map[string]validation{preemptionRows, otherRows} {
		for name, tc := range table {
			if tc.scopes == nil {
				tc.scopes = propagation.Scopes
			}
			for _, scope := range tc.scopes {
				t.Run(string(scope)+" "+name, func(t *testing.T) {
					var old *admission.Policy
					if tc.old != nil {
						p := of(scope, tc.old...)
						old = &p
					}
					wanted := slices.Clone(tc.want)
					for i := range wanted {
						wanted[i].field = strings.ReplaceAll(wanted[i].field, "LABEL", idLabels[scope])
					}
					if diff := diffFaults(admission.Validate(of(scope, tc.sent...), old, scopes), wanted); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

// What Validate lets in is exactly what may preempt.
func TestWhatIsSpecificIsWhatMatchingTakesForNamed(t *testing.T) {
	templates := []propagation.TemplateKey{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "nginx"},
	}
	for _, scope := range propagation.Scopes {
		for _, k := range templates {
			for _, namespace := range []string{"", k.Namespace} {
				for _, name := range []string{"", "nginx"} {
					p := of(scope, always, selecting(policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: namespace, Name: name}))
					c, miss := matching.Select(&propagation.Policy{Key: p.Key, Spec: p.Spec}, &propagation.Template{Key: k})
					if accepted := len(admission.Validate(p, nil, scopes)) == 0; miss == "" && accepted != c.Named {
						t.Errorf("%s, selector %q/%q, %s: accepted is %v, Named is %v", p.Key, namespace, name, k, accepted, c.Named)
					}
				}
			}
		}
	}
}

func TestKindsAreThoseThatValidateMustKnow(t *testing.T) {
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	widgets := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}
	several := selecting(deployment("shop", "a"), unknown, deployment("shop", "b"), malformed)
	for name, tc := range map[string]struct {
		scope     propagation.Scope
		old, sent edits
		want      []schema.GroupVersionKind
	}{
		"a cluster policy with Always: each kind once": {scope: propagation.Cluster, sent: edits{always, several}, want: []schema.GroupVersionKind{deployments, widgets}},
		"a policy with Always: none":                   {scope: propagation.Namespaced, sent: edits{always, several}},
		"a cluster policy with Never: none":            {scope: propagation.Cluster, sent: edits{several}},
		"a spec that stays as it is: none":             {scope: propagation.Cluster, old: edits{stored, always, several}, sent: edits{stored, always, several}},
		"a policy that is being deleted: none":         {scope: propagation.Cluster, sent: edits{always, several, func(p *admission.Policy) { p.Deleting = true }}},
	} {
		t.Run(name, func(t *testing.T) {
			var old *admission.Policy
			if tc.old != nil {
				p := of(tc.scope, tc.old...)
				old = &p
			}
			if diff := cmp.Diff(tc.want, admission.Kinds(of(tc.scope, tc.sent...), old)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateOverride(t *testing.T) {
	for name, tc := range map[string]struct {
		scopes   []propagation.Scope
		spec     policyv1alpha1.OverrideSpec
		deleting bool
		want     []want
	}{
		"an override of everything is accepted": {},
		"an override of its own namespace is accepted": {
			spec: policyv1alpha1.OverrideSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("shop", ""), deployment("", "")}},
		},
		"an override of another namespace is rejected": {
			scopes: policies,
			spec:   policyv1alpha1.OverrideSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("other", "")}},
			want:   []want{{"spec.resourceSelectors[0].namespace", "own namespace"}},
		},
		"a cluster override of any namespace is accepted": {
			scopes: clusterPolicies,
			spec:   policyv1alpha1.OverrideSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("other", "")}},
		},
		"a bad label selector of clusters is rejected": {
			spec: policyv1alpha1.OverrideSpec{
				TargetCluster: &policyv1alpha1.ClusterAffinity{LabelSelector: bad},
				OverrideRules: []policyv1alpha1.RuleWithCluster{{}, {TargetCluster: &policyv1alpha1.ClusterAffinity{LabelSelector: bad}}},
			},
			want: []want{{"spec.targetCluster.labelSelector", "Is"}, {"spec.overrideRules[1].targetCluster.labelSelector", "Is"}},
		},
		"one that is being deleted is accepted": {
			spec: policyv1alpha1.OverrideSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("other", "")}}, deleting: true,
		},
	} {
		if tc.scopes == nil {
			tc.scopes = propagation.Scopes
		}
		for _, scope := range tc.scopes {
			t.Run(string(scope)+" "+name, func(t *testing.T) {
				o := admission.Override{Key: of(scope).Key, Spec: tc.spec, Deleting: tc.deleting}
				if diff := diffFaults(admission.ValidateOverride(o), tc.want); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
