// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/cli/joining"
)

// Z40: what a member grants is exactly this. The account with which sources read only
// reads, and the one that writes has tokens of that account alone.
func TestZ40Role(t *testing.T) {
	raw, err := joining.Role([]schema.GroupResource{{Group: "apps", Resource: "deployments"}, {Resource: "configmaps"}})
	if err != nil {
		t.Fatal(err)
	}
	type granted struct {
		Rules    []rbacv1.PolicyRule
		Subjects []rbacv1.Subject
		Role     string
	}
	got := map[string]granted{}
	for _, doc := range strings.Split(string(raw), "---\n")[1:] {
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
			Rules    []rbacv1.PolicyRule
			Subjects []rbacv1.Subject
			RoleRef  rbacv1.RoleRef
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
		got[o.Kind+" "+name] = granted{o.Rules, o.Subjects, o.RoleRef.Name}
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	writes, reads := []string{"get", "list", "watch", "create", "patch", "delete"}, []string{"get", "list", "watch"}
	account := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: name}}
	}
	want := map[string]granted{
		"Namespace sluice-member":                    {},
		"ServiceAccount sluice-member/sluice-member": {},
		"ClusterRole sluice-member": {Rules: []rbacv1.PolicyRule{
			rule("", "namespaces", "get", "create"),
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list"}},
			rule("autoscaling", "horizontalpodautoscalers", "list"),
			{NonResourceURLs: []string{"/readyz", "/version"}, Verbs: []string{"get"}},
			rule("", "configmaps", writes...), rule("apps", "deployments", writes...),
		}},
		"ClusterRoleBinding sluice-member":           {Subjects: account("sluice-member"), Role: "sluice-member"},
		"Namespace sluice-reader":                    {},
		"ServiceAccount sluice-reader/sluice-reader": {},
		"ClusterRole sluice-reader":                  {Rules: []rbacv1.PolicyRule{rule("", "configmaps", reads...), rule("apps", "deployments", reads...)}},
		"ClusterRoleBinding sluice-reader":           {Subjects: account("sluice-reader"), Role: "sluice-reader"},
		"Role sluice-reader/sluice-member": {Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"sluice-reader"}, Verbs: []string{"get"}},
			rule("", "secrets", "get", "list", "create", "delete"),
		}},
		"RoleBinding sluice-reader/sluice-member": {Subjects: account("sluice-member"), Role: "sluice-member"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("granted (-want +got)\n%s", d)
	}
}
