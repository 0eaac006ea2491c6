// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/propagation"
)

var idLabels = map[propagation.Scope]string{
	propagation.Namespaced: propagation.ClaimLabelNamespaced, propagation.Cluster: propagation.ClaimLabelCluster,
}

// of is a policy of the scope that selects nginx, changed by each of edits.
func of(scope propagation.Scope, edits ...func(*admission.Policy)) admission.Policy {
	p := admission.Policy{
		Key:  propagation.PolicyKey{Scope: scope, Name: "p"},
		Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("shop", "nginx")}},
	}
	if scope == propagation.Namespaced {
		p.Key.Namespace = "shop"
	}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func deployment(namespace, name string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
}

// stored gives a policy the UID that it has since its creation.
func stored(p *admission.Policy) { p.UID = "uid" }

// labelled gives a policy its permanent id.
func labelled(id string) func(*admission.Policy) {
	return func(p *admission.Policy) { p.Labels = map[string]string{idLabels[p.Key.Scope]: id} }
}

func selecting(s ...policyv1alpha1.ResourceSelector) func(*admission.Policy) {
	return func(p *admission.Policy) { p.Spec.ResourceSelectors = s }
}

func spec(edit func(*policyv1alpha1.PropagationSpec)) func(*admission.Policy) {
	return func(p *admission.Policy) { edit(&p.Spec) }
}

func always(p *admission.Policy) { p.Spec.Preemption = policyv1alpha1.PreemptAlways }

func lazy(p *admission.Policy) { p.Spec.ActivationPreference = policyv1alpha1.LazyActivation }

type edits []func(*admission.Policy)

func TestDefaultGivesEachPolicyOnePermanentID(t *testing.T) {
	for name, tc := range map[string]struct {
		old  *edits
		sent edits
		want string
	}{
		"P40 a new policy gets a new id":                                     {sent: edits{}, want: "new"},
		"an empty id is none":                                                {sent: edits{labelled("")}, want: "new"},
		"a policy that is restored from a backup keeps its id":               {sent: edits{labelled("mine")}, want: "mine"},
		"P40 an update that drops the label gets it back":                    {old: &edits{stored, labelled("mine")}, sent: edits{}, want: "mine"},
		"an update leaves the id alone":                                      {old: &edits{stored, labelled("mine")}, sent: edits{stored, labelled("mine")}, want: "mine"},
		"a policy made while nobody answered keeps its UID, no new identity": {old: &edits{stored}, sent: edits{stored}, want: "uid"},
		"and does so where the update leaves out the UID":                    {old: &edits{stored}, sent: edits{}, want: "uid"},
		"another id is left for Validate to refuse":                          {old: &edits{stored, labelled("mine")}, sent: edits{labelled("yours")}, want: "yours"},
	} {
		for _, scope := range propagation.Scopes {
			t.Run(string(scope)+" "+name, func(t *testing.T) {
				var old *admission.Policy
				if tc.old != nil {
					p := of(scope, *tc.old...)
					old = &p
				}
				got := admission.Default(of(scope, tc.sent...), old, "new")
				if diff := cmp.Diff(map[string]string{idLabels[scope]: tc.want}, got.Labels); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestDefaultFillsInTheSpec(t *testing.T) {
	spread := func(c ...policyv1alpha1.SpreadConstraint) func(*admission.Policy) {
		return spec(func(s *policyv1alpha1.PropagationSpec) { s.Placement.SpreadConstraints = c })
	}
	imported := policyv1alpha1.ResourceSelector{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport", Namespace: "shop"}
	foreign := policyv1alpha1.ResourceSelector{APIVersion: "example.org/v1", Kind: "ServiceImport", Namespace: "shop"}
	deps := spec(func(s *policyv1alpha1.PropagationSpec) { s.PropagateDeps = true })
	both := propagation.Scopes
	for name, tc := range map[string]struct {
		scopes     []propagation.Scope
		sent, want edits
	}{
		"P4 an old manifest stays as it is":             {scopes: both, sent: edits{}, want: edits{}},
		"L2 nothing becomes Lazy by itself":             {scopes: both, sent: edits{stored}, want: edits{stored}},
		"P40 a policy's selector gets its namespace":    {scopes: both[:1], sent: edits{selecting(deployment("", "nginx"), deployment("", ""))}, want: edits{selecting(deployment("shop", "nginx"), deployment("shop", ""))}},
		"a cluster policy's selector keeps every one":   {scopes: both[1:], sent: edits{selecting(deployment("", "nginx"))}, want: edits{selecting(deployment("", "nginx"))}},
		"another namespace is left for Validate":        {scopes: both, sent: edits{selecting(deployment("other", "nginx"))}, want: edits{selecting(deployment("other", "nginx"))}},
		"P40 a ServiceImport brings what it refers to":  {scopes: both, sent: edits{selecting(imported)}, want: edits{selecting(imported), deps}},
		"a kind of that name in another group does not": {scopes: both, sent: edits{selecting(foreign)}, want: edits{selecting(foreign)}},
		"P40 a spread constraint without a field is by cluster": {
			scopes: both,
			sent:   edits{spread(policyv1alpha1.SpreadConstraint{MaxGroups: 3})},
			want:   edits{spread(policyv1alpha1.SpreadConstraint{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 3})},
		},
		"P40 a spread constraint wants one group at least": {
			scopes: both,
			sent:   edits{spread(policyv1alpha1.SpreadConstraint{SpreadByField: "region"}, policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack", MinGroups: 2})},
			want:   edits{spread(policyv1alpha1.SpreadConstraint{SpreadByField: "region", MinGroups: 1}, policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack", MinGroups: 2})},
		},
		"S5 an empty suspension stays one": {
			scopes: both,
			sent:   edits{spec(func(s *policyv1alpha1.PropagationSpec) { s.Suspension = &policyv1alpha1.Suspension{} })},
			want:   edits{spec(func(s *policyv1alpha1.PropagationSpec) { s.Suspension = &policyv1alpha1.Suspension{} })},
		},
	} {
		for _, scope := range tc.scopes {
			t.Run(string(scope)+" "+name, func(t *testing.T) {
				sent := of(scope, append(tc.sent, labelled("id"))...)
				before := *sent.Spec.DeepCopy()
				got := admission.Default(sent, nil, "new")
				if diff := cmp.Diff(of(scope, append(tc.want, labelled("id"))...), got); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(before, sent.Spec); diff != "" {
					t.Errorf("what was sent is changed in place: %s", diff)
				}
				if diff := cmp.Diff(got, admission.Default(got, nil, "other")); diff != "" {
					t.Errorf("twice is not the same: %s", diff)
				}
			})
		}
	}
}

func TestDefaultOverride(t *testing.T) {
	for _, scope := range propagation.Scopes {
		sent := admission.Override{Key: of(scope).Key, Spec: policyv1alpha1.OverrideSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{deployment("", "nginx")},
		}}
		got := admission.DefaultOverride(sent)
		if ns := got.Spec.ResourceSelectors[0].Namespace; ns != sent.Key.Namespace {
			t.Errorf("%s: the selector's namespace is %q, want the policy's, %q", scope, ns, sent.Key.Namespace)
		}
		if sent.Spec.ResourceSelectors[0].Namespace != "" {
			t.Errorf("%s: what was sent is changed in place", scope)
		}
	}
}
