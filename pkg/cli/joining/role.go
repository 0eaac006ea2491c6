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
	// readerName is the name of the account that only reads, and of its namespace: who
	// may write Secrets there has tokens of no other account.
	readerName = "sluice-reader"
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
// one that only reads objects of these kinds, whose tokens the first one makes.
func Role(kinds []schema.GroupResource) ([]byte, error) {
	base := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list"}},
		{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"list"}},
		{NonResourceURLs: []string{"/readyz", "/version"}, Verbs: []string{"get"}},
	}
	writer, write, writes := grantTo(RoleNamespace, RoleName, slices.Concat(base, rules(kinds, verbs)))
	reader, read, readsAll := grantTo(readerName, readerName, rules(kinds, reads))
	tokens, maker := readerTokens()
	var out bytes.Buffer
	for _, o := range []any{namespaceOf(RoleNamespace), writer, write, writes, namespaceOf(readerName), reader, read, readsAll, tokens, maker} {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode the role: %w", err)
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	return out.Bytes(), nil
}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// grantTo returns an account with its rights.
func grantTo(namespace, name string, rules []rbacv1.PolicyRule) (*corev1.ServiceAccount, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding) {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}},
		&rbacv1.ClusterRole{TypeMeta: rbacType("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbacType("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacAPI, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: namespace}},
		}
}

// readerTokens let the account that writes make and revoke tokens of the one that reads.
func readerTokens() (*rbacv1.Role, *rbacv1.RoleBinding) {
	where := metav1.ObjectMeta{Name: RoleName, Namespace: readerName}
	return &rbacv1.Role{TypeMeta: rbacType("Role"), ObjectMeta: where, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{readerName}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "delete"}},
		}},
		&rbacv1.RoleBinding{
			TypeMeta: rbacType("RoleBinding"), ObjectMeta: where,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacAPI, Kind: "Role", Name: RoleName},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: RoleName, Namespace: RoleNamespace}},
		}
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacAPI + "/v1", Kind: kind}
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
