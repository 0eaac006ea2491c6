// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The names of what Role creates in a member.
const (
	RoleNamespace = "sluice-member"
	RoleName      = "sluice-member"
	// readerName is the name of the account that only reads what Sluice applied.
	readerName = "sluice-member-reader"
)

// Kinds are the kinds that most applications consist of.
var Kinds = []schema.GroupResource{
	{Resource: "configmaps"}, {Resource: "persistentvolumeclaims"}, {Resource: "secrets"}, {Resource: "serviceaccounts"}, {Resource: "services"},
	{Group: "apps", Resource: "daemonsets"}, {Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "statefulsets"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"},
	{Group: "batch", Resource: "cronjobs"}, {Group: "batch", Resource: "jobs"},
	{Group: "networking.k8s.io", Resource: "ingresses"}, {Group: "networking.k8s.io", Resource: "networkpolicies"},
	{Group: "policy", Resource: "poddisruptionbudgets"},
}

// verbs are what Sluice does with objects of a kind in a member, reads those of the
// account that only reads.
var (
	verbs = []string{"get", "list", "watch", "create", "patch", "delete"}
	reads = []string{"get", "list", "watch"}
)

// Role returns, as YAML, what a member grants to Sluice: an account that may write
// objects of these kinds and no others, create missing namespaces, and list nodes; and
// one that only reads objects of these kinds.
func Role(kinds []schema.GroupResource) ([]byte, error) {
	base := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list"}},
		{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"list"}},
		{NonResourceURLs: []string{"/readyz", "/version"}, Verbs: []string{"get"}},
	}
	objects := []any{
		&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: RoleNamespace}},
	}
	objects = append(objects, account(RoleName, slices.Concat(base, rules(kinds, verbs)))...)
	objects = append(objects, account(readerName, rules(kinds, reads))...)
	var out bytes.Buffer
	for _, o := range objects {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode the role: %w", err)
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	return out.Bytes(), nil
}

// account returns a ServiceAccount with its rights.
func account(name string, rules []rbacv1.PolicyRule) []any {
	const api = "rbac.authorization.k8s.io"
	return []any{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: RoleNamespace}},
		&rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: api + "/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: api + "/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: api, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: RoleNamespace}},
		},
	}
}

// rules allow the verbs on the kinds, with one rule for each API group.
func rules(kinds []schema.GroupResource, verbs []string) []rbacv1.PolicyRule {
	byGroup := map[string][]string{}
	var groups []string
	for _, k := range kinds {
		if byGroup[k.Group] == nil {
			groups = append(groups, k.Group)
		}
		byGroup[k.Group] = append(byGroup[k.Group], k.Resource)
	}
	slices.Sort(groups)
	var out []rbacv1.PolicyRule
	for _, g := range groups {
		slices.Sort(byGroup[g])
		out = append(out, rbacv1.PolicyRule{APIGroups: []string{g}, Resources: slices.Compact(byGroup[g]), Verbs: verbs})
	}
	return out
}

// ParseKinds reads kinds as kubectl names them: deployments.apps, configmaps.
func ParseKinds(names []string) ([]schema.GroupResource, error) {
	var kinds []schema.GroupResource
	for _, name := range names {
		k := schema.ParseGroupResource(strings.TrimSpace(name))
		if k.Resource == "" || k.Resource == "*" || k.Group == "*" || strings.ToLower(name) != name {
			return nil, fmt.Errorf("%q names no kind: say it as in deployments.apps or configmaps", name)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}
