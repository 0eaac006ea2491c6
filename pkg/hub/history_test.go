// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

func TestHistoryOfPolicies(t *testing.T) {
	for _, scope := range propagation.Scopes {
		t.Run(string(scope), func(t *testing.T) { testHistory(t, scope) })
	}
}

func testHistory(t *testing.T, scope propagation.Scope) {
	l := newLab(t)
	must(t, l.EnsureNamespace(l.ctx, propagation.SystemNamespace))
	gvr, kind := policies, "PropagationPolicy"
	key := propagation.PolicyKey{Scope: scope, Namespace: l.namespace, Name: l.namespace}
	if scope == propagation.Cluster {
		gvr.Resource, kind, key.Namespace = "clusterpropagationpolicies", "ClusterPropagationPolicy", ""
	}
	l.somebodyMakes(gvr, fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: %s
metadata: {name: %s, namespace: %q, labels: {team: a}}
spec: {priority: 3, activationPreference: Lazy, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: nobody}], placement: {clusterAffinity: {clusterNames: [m1, m2]}}}
`, kind, key.Name, key.Namespace))
	t.Cleanup(func() { _ = l.of(gvr, key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{}) })
	p, err := l.Policy(l.ctx, key)
	must(t, err)
	if _, err := l.PolicyRevision(l.ctx, p); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("nothing is kept, and it says %v", err)
	}
	first, _ := p.Keep(nil)
	must(t, l.KeepPolicyRevision(l.ctx, p, first))
	if err := l.KeepPolicyRevision(l.ctx, p, first); !outcome.IsConflict(err) {
		t.Errorf("kept again: %v, want a conflict", err)
	}
	kept, err := l.PolicyRevision(l.ctx, p)
	must(t, err)
	if !kept.Of(p) || kept.Number != 1 || kept.Namespace != first.Namespace {
		t.Errorf("kept %+v", kept)
	}
	if owners := l.live(revisions, kept.Namespace, kept.Name).GetOwnerReferences(); len(owners) != 1 || owners[0].UID != p.UID || owners[0].Kind != kind {
		t.Errorf("owners: %+v, want the policy", owners)
	}
	l.somebodyPatches(gvr, key.Namespace, key.Name, `{"spec":{"priority":null,"conflictResolution":"Overwrite","placement":{"clusterAffinity":{"clusterNames":["m3"]}}}}`)
	edited, err := l.Policy(l.ctx, key)
	must(t, err)
	all, err := l.PolicyRevisions(l.ctx, edited)
	must(t, err)
	if len(all) != 1 || all[0].UID != kept.UID {
		t.Errorf("kept are %+v", all)
	}
	if _, err := l.CommitPolicySpec(l.ctx, p, kept.Spec); err != nil {
		t.Errorf("it says so already in that version, and it is %v", err)
	}
	stale := *edited
	stale.ResourceVersion = p.ResourceVersion
	if _, err := l.CommitPolicySpec(l.ctx, &stale, kept.Spec); !outcome.IsConflict(err) {
		t.Errorf("on an old version: %v, want a conflict", err)
	}
	back, err := l.CommitPolicySpec(l.ctx, edited, kept.Spec)
	must(t, err)
	if back.Revision().Name != first.Name {
		t.Errorf("it says %+v, want %+v", back.Spec, p.Spec)
	}
	if o := l.live(gvr, key.Namespace, key.Name); o.GetLabels()["team"] != "a" {
		t.Errorf("labels %v", o.GetLabels())
	}
	must(t, l.DropPolicyRevision(l.ctx, kept))
	must(t, l.DropPolicyRevision(l.ctx, kept))
	if all, err := l.PolicyRevisions(l.ctx, p); err != nil || len(all) > 0 {
		t.Errorf("deleted: %+v, %v", all, err)
	}
}
