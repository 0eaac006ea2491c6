// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Scope says whether an object lives in a namespace or in the whole cluster.
type Scope string

// The two scopes of policies, bindings and templates.
const (
	Namespaced Scope = "Namespaced"
	Cluster    Scope = "Cluster"
)

// Scopes lists both scopes, for tables and loops that serve either.
var Scopes = []Scope{Namespaced, Cluster}

// ScopeOf is Namespaced where there is a namespace, and Cluster otherwise.
func ScopeOf(namespace string) Scope {
	if namespace == "" {
		return Cluster
	}
	return Namespaced
}

// TemplateKey names a template on the hub. Two versions of one kind name the
// same object: the version serves to read it and is no part of its identity
// (see ID).
type TemplateKey struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// GroupVersionKind splits the API version. A malformed version yields the
// empty group, as in schema.FromAPIVersionAndKind.
func (k TemplateKey) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// ID is the template's identity in indexes: group/kind/namespace/name. No part
// can contain a slash.
func (k TemplateKey) ID() string {
	return k.GroupVersionKind().Group + "/" + k.Kind + "/" + k.Namespace + "/" + k.Name
}

// String is for people: "Deployment shop/nginx".
func (k TemplateKey) String() string { return k.Kind + " " + join(k.Namespace, k.Name) }

// IsSecret tells whether the template is a Secret.
func (k TemplateKey) IsSecret() bool { return k.APIVersion == "v1" && k.Kind == "Secret" }

// Identifies says in what an object is another than the key names. The version
// of its API is no part of that.
func (k TemplateKey) Identifies(obj map[string]any) error {
	is := KeyOf(obj)
	if is.ID() != k.ID() {
		return fmt.Errorf("it is %s of group %q, and not %s of group %q", is, is.GroupVersionKind().Group, k, k.GroupVersionKind().Group)
	}
	return nil
}

// KeyOf is what an object says that it is.
func KeyOf(obj map[string]any) TemplateKey {
	text := func(m map[string]any, field string) string { s, _ := m[field].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	return TemplateKey{
		APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name"),
	}
}

// PolicyKey names a policy of either scope. Namespace is empty for Cluster.
type PolicyKey struct {
	Scope     Scope  `json:"scope"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ID is the policy's identity in indexes: scope/namespace/name.
func (k PolicyKey) ID() string { return string(k.Scope) + "/" + k.Namespace + "/" + k.Name }

// String is for people: "policy shop/nginx" or "cluster policy nginx".
func (k PolicyKey) String() string {
	if k.Scope == Cluster {
		return "cluster policy " + k.Name
	}
	return "policy " + join(k.Namespace, k.Name)
}

// IsZero tells whether the key names nothing.
func (k PolicyKey) IsZero() bool { return k.Name == "" }

// ParsePolicyID is the inverse of PolicyKey.ID.
func ParsePolicyID(id string) (PolicyKey, error) {
	p := strings.SplitN(id, "/", 3)
	if len(p) != 3 || p[2] == "" || (Scope(p[0]) != Namespaced && Scope(p[0]) != Cluster) {
		return PolicyKey{}, fmt.Errorf("policy id %q: want scope/namespace/name", id)
	}
	return PolicyKey{Scope: Scope(p[0]), Namespace: p[1], Name: p[2]}, nil
}

// BindingKey names a binding. Its scope is that of its template.
type BindingKey struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Scope is that of the binding's kind.
func (k BindingKey) Scope() Scope { return ScopeOf(k.Namespace) }

// ID is the binding's identity in indexes: namespace/name.
func (k BindingKey) ID() string { return k.Namespace + "/" + k.Name }

// String is for people.
func (k BindingKey) String() string { return "binding " + join(k.Namespace, k.Name) }

// Form says in which of the two APIs a Work is written: a Work is one concept
// with two wire forms, as scope is one path for two kinds.
type Form string

// The two forms.
const (
	// PolicyForm is that of a policy's Work: one template for one member.
	PolicyForm Form = ""
	// PlacementForm is that of a placement's Work: a part of a snapshot, with
	// many objects.
	PlacementForm Form = "placement"
)

// Forms lists both forms, for tables and loops that serve either.
var Forms = []Form{PolicyForm, PlacementForm}

// The hub namespaces of a member's Works begin with these.
var workNamespacePrefixes = map[Form]string{PolicyForm: "karmada-es-", PlacementForm: "fleet-member-"}

// Namespace is the hub namespace that holds a member's Works of the form.
func (f Form) Namespace(cluster string) string { return workNamespacePrefixes[f] + cluster }

// ClusterOf is the inverse of Namespace; false where the namespace is no
// member's.
func (f Form) ClusterOf(namespace string) (string, bool) {
	cluster, ok := strings.CutPrefix(namespace, workNamespacePrefixes[f])
	return cluster, ok && cluster != ""
}

// WorkKey names what one member gets for one binding, or for one part of a
// placement. The Work lives in the namespace that Namespace names.
type WorkKey struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	Form    Form   `json:"form,omitempty"`
}

// Namespace is the hub namespace that holds the Work.
func (k WorkKey) Namespace() string { return k.Form.Namespace(k.Cluster) }

// Owner is how an object in the member names the Work that it comes from: the
// value of the label sluice.dev/work. No policy's Work has an underscore in its name.
func (k WorkKey) Owner() string {
	if k.Form == PolicyForm {
		return k.Name
	}
	const prefix = "placement_"
	if len(prefix)+len(k.Name) <= validation.LabelValueMaxLength {
		return prefix + k.Name
	}
	return prefix + hashedName(k.Name, k.Name, validation.LabelValueMaxLength-len(prefix), indexHash)
}

// String is for people: "work member1/nginx-deployment-6f9c", and for a
// placement's "work fleet-member-member1/crp-1-work".
func (k WorkKey) String() string {
	if k.Form == PlacementForm {
		return "work " + k.Namespace() + "/" + k.Name
	}
	return "work " + k.Cluster + "/" + k.Name
}

// WorkNamespace is the hub namespace that holds a member's Works of policies.
func WorkNamespace(cluster string) string { return PolicyForm.Namespace(cluster) }

// ClusterOfWorkNamespace is the cluster whose Works, of either form, are in the
// namespace; false where the namespace is no member's.
func ClusterOfWorkNamespace(namespace string) (string, bool) {
	for _, f := range Forms {
		if cluster, ok := f.ClusterOf(namespace); ok {
			return cluster, true
		}
	}
	return "", false
}

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
