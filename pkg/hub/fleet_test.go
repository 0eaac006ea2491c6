// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

func TestPolicies(t *testing.T) {
	for _, watched := range []bool{false, true} {
		for _, scope := range propagation.Scopes {
			t.Run(fmt.Sprintf("watched %t %s", watched, scope), func(t *testing.T) { testPolicies(t, scope, watched) })
		}
	}
}

func testPolicies(t *testing.T, scope propagation.Scope, watched bool) {
	l := newLab(t)
	gvr, kind, label := policies, "PropagationPolicy", propagation.ClaimLabelNamespaced
	key := propagation.PolicyKey{Scope: scope, Namespace: l.namespace, Name: l.namespace}
	if scope == propagation.Cluster {
		gvr.Resource, kind, label, key.Namespace = "clusterpropagationpolicies", "ClusterPropagationPolicy", propagation.ClaimLabelCluster, ""
	}
	o := l.somebodyMakes(gvr, fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: %s
metadata: {name: %s, namespace: %q}
spec: {priority: 3, activationPreference: Lazy, resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: nobody}]}
`, kind, key.Name, key.Namespace))
	t.Cleanup(func() { _ = l.of(gvr, key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{}) })
	if watched {
		l.watch(gvr.GroupVersion().WithKind("PropagationPolicy"))
		l.watch(gvr.GroupVersion().WithKind("ClusterPropagationPolicy"))
	}
	p, err := l.Policy(l.ctx, key)
	must(t, err)
	if p.Key != key || p.ID != string(o.GetUID()) || !p.Lazy() || p.Priority() != 3 || p.Generation != 1 || p.LastUserWrite.IsZero() {
		t.Errorf("policy: %+v", p)
	}
	all, err := l.Policies(l.ctx)
	must(t, err)
	if !slices.ContainsFunc(all, func(other *propagation.Policy) bool { return cmp.Equal(p, other) }) {
		t.Errorf("%s is not among all policies", key)
	}
	l.requests.take()
	must(t, l.CommitPolicyStatus(l.ctx, p, policyv1alpha1.PropagationStatus{}))
	if n := len(l.requests.take()); watched && n > 0 {
		t.Errorf("%d requests without a difference", n)
	}
	status := policyv1alpha1.PropagationStatus{ObservedGeneration: 1, Templates: policyv1alpha1.TemplateCounts{Claimed: 2}}
	must(t, l.CommitPolicyStatus(l.ctx, p, status))
	reported, err := l.Policy(l.ctx, key)
	must(t, err)
	if !reported.LastUserWrite.Equal(p.LastUserWrite) || reported.Generation != 1 || reported.Priority() != 3 {
		t.Errorf("policy with its status: %+v", reported)
	}
	must(t, l.CommitPolicyStatus(l.ctx, reported, status))
	if err := l.CommitPolicyStatus(l.ctx, p, policyv1alpha1.PropagationStatus{ObservedGeneration: 7}); !outcome.IsConflict(err) {
		t.Errorf("on an old version: %v, want a conflict", err)
	}
	l.somebodyPatches(gvr, key.Namespace, key.Name, `{"metadata":{"labels":{"`+label+`":"an-id"}}}`)
	l.waitFor("the permanent id", func() bool {
		p, err = l.Policy(l.ctx, key)
		return err == nil && p.ID == "an-id"
	})
}

func TestPolicyOfNoScope(t *testing.T) {
	l := newLab(t)
	if _, err := l.Policy(l.ctx, propagation.PolicyKey{Name: "p"}); err == nil || errors.Is(err, outcome.ErrGone) {
		t.Errorf("a key without a scope: %v, want an error", err)
	}
}

func TestOverrides(t *testing.T) {
	l := newLab(t)
	for kind, plural := range map[string]string{"OverridePolicy": "overridepolicies", "ClusterOverridePolicy": "clusteroverridepolicies"} {
		gvr, namespace := policies, l.namespace
		if gvr.Resource = plural; kind == "ClusterOverridePolicy" {
			namespace = ""
		}
		l.somebodyMakes(gvr, fmt.Sprintf(`
apiVersion: policy.karmada.io/v1alpha1
kind: %s
metadata: {name: %s, namespace: %q}
spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: nobody}], overrideRules: [{overriders: {plaintext: [{path: /data/a, operator: replace, value: %s}]}}]}
`, kind, l.namespace, namespace, plural))
		t.Cleanup(func() { _ = l.of(gvr, namespace).Delete(t.Context(), l.namespace, metav1.DeleteOptions{}) })
	}
	own := map[propagation.PolicyKey]string{
		{Scope: propagation.Namespaced, Namespace: l.namespace, Name: l.namespace}: `"overridepolicies"`,
	}
	wide := map[propagation.PolicyKey]string{{Scope: propagation.Cluster, Name: l.namespace}: `"clusteroverridepolicies"`}
	both := maps.Clone(own)
	maps.Copy(both, wide)
	for namespace, want := range map[string]map[propagation.PolicyKey]string{l.namespace: both, "another": wide, "": wide} {
		all, err := l.Overrides(l.ctx, namespace)
		must(t, err)
		got := map[propagation.PolicyKey]string{}
		for _, o := range all {
			if o.Key.Name == l.namespace {
				got[o.Key] = string(o.Spec.OverrideRules[0].Overriders.Plaintext[0].Value.Raw)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of namespace %q (-want +got):\n%s", namespace, diff)
		}
	}
}

func TestClusters(t *testing.T) {
	l := newLab(t)
	l.somebodyMakes(clusters, "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: "+l.namespace+"}, spec: {syncMode: Push}}")
	t.Cleanup(func() { l.somebodyDeletesLater(clusters, l.namespace) })
	c, err := l.Cluster(l.ctx, l.namespace)
	must(t, err)
	status := clusterv1alpha1.ClusterStatus{
		KubernetesVersion: "v1.36.3",
		Conditions:        []metav1.Condition{{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonClusterReady, LastTransitionTime: metav1.Now()}},
	}
	must(t, l.CommitClusterStatus(l.ctx, c, status))
	ready, err := l.Cluster(l.ctx, l.namespace)
	must(t, err)
	l.requests.take()
	must(t, l.CommitClusterStatus(l.ctx, ready, status))
	l.wantRequests()
	if ready.Spec.SyncMode != clusterv1alpha1.Push || ready.Kind != "Cluster" {
		t.Errorf("cluster: %+v", ready)
	}
	all, err := l.Clusters(l.ctx)
	must(t, err)
	if !slices.ContainsFunc(all, func(other *clusterv1alpha1.Cluster) bool { return cmp.Equal(ready, other) }) {
		t.Error("it is not among all clusters")
	}
}

// A label of a Cluster counts before it is mirrored.
func TestC1TheFleetIsAsClustersAreNow(t *testing.T) {
	l := newLab(t)
	l.somebodyMakes(clusters, "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: "+l.namespace+", labels: {env: prod}}, spec: {syncMode: Push}}")
	t.Cleanup(func() { l.somebodyDeletesLater(clusters, l.namespace) })
	m, err := l.CommitMember(l.ctx, nil, &memberclusterv1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: l.namespace, Labels: map[string]string{"own": "kept"}},
		Spec:       memberclusterv1.MemberClusterSpec{Identity: rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}},
	})
	must(t, err)
	t.Cleanup(func() { must(t, l.DeleteMember(context.WithoutCancel(l.ctx), m)) })
	fleet, err := l.Fleet(l.ctx)
	must(t, err)
	i := slices.IndexFunc(fleet, func(o *memberclusterv1.MemberCluster) bool { return o.Name == l.namespace })
	if i < 0 {
		t.Fatal("it is not in the fleet")
	}
	if got := fleet[i].Labels; got["env"] != "prod" || got["own"] != "kept" {
		t.Errorf("labels: %v, want those of the Cluster and its own", got)
	}
}

func TestFeatures(t *testing.T) {
	l := newLab(t)
	must(t, l.EnsureNamespace(l.ctx, propagation.SystemNamespace))
	before, err := l.of(configMaps, propagation.SystemNamespace).Get(l.ctx, propagation.FeaturesName, metav1.GetOptions{})
	if err == nil {
		t.Skipf("somebody uses this hub: %s/%s is there", before.GetNamespace(), before.GetName())
	}
	f, err := l.Features(l.ctx)
	must(t, err)
	if !f.Missing || !f.Static || f.Preemption || f.Budget != propagation.BudgetAll {
		t.Errorf("without the ConfigMap: %+v, want what holds back", f)
	}
	l.somebodyMakes(configMaps, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {StaticPolicy: 'true'}}", propagation.FeaturesName, propagation.SystemNamespace))
	defer l.somebodyDeletes(configMaps, propagation.SystemNamespace, propagation.FeaturesName)
	f, err = l.Features(l.ctx)
	must(t, err)
	if f != (propagation.Features{Static: true}) {
		t.Errorf("features: %+v", f)
	}
}

func TestSecretAndNamespace(t *testing.T) {
	l := newLab(t)
	l.somebodyMakes(secrets, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: "+l.namespace+"}, stringData: {token: abc}}")
	data, err := l.Secret(l.ctx, l.namespace, "s")
	must(t, err)
	if diff := cmp.Diff(map[string][]byte{"token": []byte("abc")}, data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := l.Secret(l.ctx, l.namespace, "another"); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("an unknown Secret: %v, want gone", err)
	}
	labels, err := l.Namespace(l.ctx, l.namespace)
	must(t, err)
	if labels["kubernetes.io/metadata.name"] != l.namespace {
		t.Errorf("labels: %v", labels)
	}
}

func TestEnsureNamespace(t *testing.T) {
	l := newLab(t)
	name := l.namespace + "-another"
	t.Cleanup(func() { l.somebodyDeletesLater(namespaces, name) })
	must(t, l.EnsureNamespace(l.ctx, name))
	l.requests.take()
	must(t, l.EnsureNamespace(l.ctx, name))
	l.wantRequests("GET /api/v1/namespaces/" + name)
}

func TestRecord(t *testing.T) {
	l := newLab(t)
	about := hub.About{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: "settings", UID: "an-uid"}
	for range 3 {
		l.Record(l.ctx, about, corev1.EventTypeNormal, "Tried", "somebody tried something")
	}
	l.Record(l.ctx, hub.About{APIVersion: "v1", Kind: "Namespace", Name: l.namespace}, corev1.EventTypeWarning, "Broken", "it is broken")
	find := func(namespace, reason string) *unstructured.Unstructured {
		list, err := l.of(events, namespace).List(l.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + map[string]string{"Tried": "settings", "Broken": l.namespace}[reason]})
		must(t, err)
		for i := range list.Items {
			if list.Items[i].Object["reason"] == reason {
				return &list.Items[i]
			}
		}
		return nil
	}
	l.waitFor("the event to be counted", func() bool {
		e := find(l.namespace, "Tried")
		return e != nil && e.Object["count"] == int64(3)
	})
	l.waitFor("the event of what has no namespace", func() bool { return find("default", "Broken") != nil })
}
