// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/cli/joining"
)

func TestZ28Grant(t *testing.T) {
	widgets, replicaSets := schema.GroupResource{Group: "example.com", Resource: "widgets"}, schema.GroupResource{Group: "apps", Resource: "replicasets"}
	raw, err := joining.Grant([]joining.Granted{{GroupResource: widgets, Status: true}, {GroupResource: schema.GroupResource{Resource: "limitranges"}}, {GroupResource: replicaSets, Status: true, Scales: true}}, "")
	if err != nil {
		t.Fatal(err)
	}
	// What the installation collects.
	templates, err := os.ReadFile("../../../config/200-rbac/templates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]rbacv1.PolicyRule{}
	for _, doc := range strings.Split(string(raw), "---\n")[1:] {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		got[role.Name] = role.Rules
		collected := false
		for label := range role.Labels {
			collected = collected || strings.Contains(string(templates), label+`: "true"`) && strings.Contains(label, "aggregate-to")
		}
		if role.Kind != "ClusterRole" || !collected {
			t.Errorf("%s %s is collected by no role of the installation: %v", role.Kind, role.Name, role.Labels)
		}
	}
	rule := func(group, resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}
	}
	want := map[string][]rbacv1.PolicyRule{
		"sluice-templates-read-widgets.example.com":   rule("example.com", "widgets", "get"),
		"sluice-templates-watch-widgets.example.com":  rule("example.com", "widgets", "list", "watch"),
		"sluice-templates-claim-widgets.example.com":  rule("example.com", "widgets", "patch"),
		"sluice-templates-status-widgets.example.com": rule("example.com", "widgets/status", "patch"),
		"sluice-templates-read-limitranges":           rule("", "limitranges", "get"),
		"sluice-templates-watch-limitranges":          rule("", "limitranges", "list", "watch"),
		"sluice-templates-claim-limitranges":          rule("", "limitranges", "patch"),
		"sluice-templates-read-replicasets.apps":      rule("apps", "replicasets", "get"),
		"sluice-templates-watch-replicasets.apps":     rule("apps", "replicasets", "list", "watch"),
		"sluice-templates-claim-replicasets.apps":     rule("apps", "replicasets", "patch"),
		"sluice-templates-status-replicasets.apps":    append(rule("apps", "replicasets/status", "patch"), rule("apps", "replicasets/scale", "patch")...),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("roles (-want +got)\n%s", d)
	}
}

func TestZ28GrantSecretsByNamespace(t *testing.T) {
	kinds := []joining.Granted{{GroupResource: joining.Secrets}}
	for namespace, want := range map[string]string{"": "say which with --namespace", "sluice-system": "holds the members' credentials"} {
		if _, err := joining.Grant(kinds, namespace); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("namespace %q: %v, want %q", namespace, err, want)
		}
	}
	raw, err := joining.Grant(kinds, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var b rbacv1.RoleBinding
	if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(string(raw), "---\n")), &b); err != nil {
		t.Fatal(err)
	}
	if b.Namespace != "shop" || b.RoleRef.Name != "sluice-templates-secrets" || len(b.Subjects) != 9 {
		t.Errorf("%s", raw)
	}
}
