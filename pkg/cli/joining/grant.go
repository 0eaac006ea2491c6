// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"bytes"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/propagation"
)

const rbacAPI = "rbac.authorization.k8s.io"

// Secrets can only be granted by namespace: an account that may read all Secrets could
// read the members' credentials.
var Secrets = schema.GroupResource{Resource: "secrets"}

// secretAccounts are the functions that read or write templates.
var secretAccounts = []string{"detector", "preemptor", "gate", "dependencies", "renderer", "applier", "reporter", "sweeper", "source"}

// Granted is a kind that is to be propagated.
type Granted struct {
	schema.GroupResource
	// Status: its objects have a status subresource.
	Status bool
	// Scales: the number of replicas of its objects is copied back from members.
	Scales bool
}

// Grant returns, as YAML, the roles that let Sluice propagate objects of these kinds:
// for each kind one ClusterRole for each of the four roles that
// config/200-rbac/templates.yaml aggregates. Secrets are granted only in the namespace.
func Grant(kinds []Granted, namespace string) ([]byte, error) {
	var objects []any
	for _, k := range kinds {
		if k.GroupResource == Secrets {
			binding, err := secretsIn(namespace)
			if err != nil {
				return nil, err
			}
			objects = append(objects, binding)
			continue
		}
		objects = append(objects, share("read", k, "", "get"), share("watch", k, "", "list", "watch"), share("claim", k, "", "patch"))
		if k.Status {
			status := share("status", k, "/status", "patch")
			if k.Scales {
				status.Rules = append(status.Rules, rule(k, "/scale", "patch"))
			}
			objects = append(objects, status)
		}
	}
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

// share returns the ClusterRole that adds verbs on a kind to one of the four roles.
func share(role string, k Granted, subresource string, verbs ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacAPI + "/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name: strings.TrimSuffix("sluice-templates-"+role+"-"+k.String(), "."),
			Labels: map[string]string{
				"app.kubernetes.io/part-of": "sluice", "sluice.dev/aggregate-to-templates-" + role: "true",
			},
		},
		Rules: []rbacv1.PolicyRule{rule(k, subresource, verbs...)},
	}
}

func rule(k Granted, subresource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{k.Resource + subresource}, Verbs: verbs}
}

func secretsIn(namespace string) (*rbacv1.RoleBinding, error) {
	switch namespace {
	case "":
		return nil, fmt.Errorf("secrets are granted by namespace: say which with --namespace")
	case propagation.SystemNamespace:
		return nil, fmt.Errorf("namespace %s holds the members' credentials: templates live elsewhere", namespace)
	}
	b := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacAPI + "/v1", Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: "sluice-templates-secrets", Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "sluice"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacAPI, Kind: "ClusterRole", Name: "sluice-templates-secrets"},
	}
	for _, account := range secretAccounts {
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Name: account, Namespace: propagation.SystemNamespace})
	}
	return b, nil
}
