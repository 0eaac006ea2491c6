// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"testing"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/propagation"
)

// The binding says by which term of clusterAffinities its clusters were chosen: it falls
// back to the next that fits, and returns to the first when that fits again.
func TestTheBindingSaysItsAffinity(t *testing.T) {
	group := func(name string, clusters ...string) policyv1alpha1.ClusterAffinityTerm {
		return policyv1alpha1.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
	}
	fleet := func(names ...string) (all []*clusterv1alpha1.Cluster) {
		for _, n := range names {
			all = append(all, labelled(n, true))
		}
		return all
	}
	terms := []policyv1alpha1.ClusterAffinityTerm{group("main", "m1"), group("spare", "m2"), group("spares", "m2", "m3")}
	b := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}}
	for _, step := range []struct {
		sentence string
		terms    []policyv1alpha1.ClusterAffinityTerm
		clusters []*clusterv1alpha1.Cluster
		want     string
		same     bool
	}{
		{"the first that fits", terms, fleet("m1", "m2"), "main", false},
		{"again: nothing is written", terms, fleet("m1", "m2"), "main", true},
		{"it falls back", terms, fleet("m2"), "spare", false},
		{"what fits nowhere stays as it is", terms, fleet("m9"), "spare", true},
		{"another term of the same clusters", terms[2:], fleet("m2"), "spares", false},
		{"it returns", terms, fleet("m1", "m2"), "main", false},
		{"a placement without terms has none", nil, fleet("m1", "m2"), "", false},
	} {
		b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinities: step.terms}
		next, _ := budget.Of(b, step.clusters).Schedule(propagation.BudgetOff, noon)
		if got := next.Annotations[propagation.AnnotationAffinity]; got != step.want {
			t.Errorf("%s: %q, want %q", step.sentence, got, step.want)
		}
		if same := next == b; same != step.same {
			t.Errorf("%s: unchanged: %t, want %t", step.sentence, same, step.same)
		}
		b = next
	}
}
