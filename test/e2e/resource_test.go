// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a kind as API servers serve it.
type resource struct {
	group, version, kind, plural string
	clusterScoped                bool
}

var (
	deployments = resource{group: "apps", version: "v1", kind: "Deployment", plural: "deployments"}
	configMaps  = resource{version: "v1", kind: "ConfigMap", plural: "configmaps"}
	secrets     = resource{version: "v1", kind: "Secret", plural: "secrets"}
	services    = resource{version: "v1", kind: "Service", plural: "services"}
	accounts    = resource{version: "v1", kind: "ServiceAccount", plural: "serviceaccounts"}
	namespaces  = resource{version: "v1", kind: "Namespace", plural: "namespaces", clusterScoped: true}
	k8sEvents   = resource{version: "v1", kind: "Event", plural: "events"}
	revisions   = resource{group: "apps", version: "v1", kind: "ControllerRevision", plural: "controllerrevisions"}
	roles       = resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole", plural: "clusterroles", clusterScoped: true}
	crds        = resource{group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition", plural: "customresourcedefinitions", clusterScoped: true}
	vaps        = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingAdmissionPolicy", plural: "validatingadmissionpolicies", clusterScoped: true}
	vapBindings = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingAdmissionPolicyBinding", plural: "validatingadmissionpolicybindings", clusterScoped: true}

	policies         = resource{group: "policy.karmada.io", version: "v1alpha1", kind: "PropagationPolicy", plural: "propagationpolicies"}
	clusterPolicies  = resource{group: "policy.karmada.io", version: "v1alpha1", kind: "ClusterPropagationPolicy", plural: "clusterpropagationpolicies", clusterScoped: true}
	overrides        = resource{group: "policy.karmada.io", version: "v1alpha1", kind: "OverridePolicy", plural: "overridepolicies"}
	clusterOverrides = resource{group: "policy.karmada.io", version: "v1alpha1", kind: "ClusterOverridePolicy", plural: "clusteroverridepolicies", clusterScoped: true}
	bindings         = resource{group: "work.karmada.io", version: "v1alpha2", kind: "ResourceBinding", plural: "resourcebindings"}
	clusterBindings  = resource{group: "work.karmada.io", version: "v1alpha2", kind: "ClusterResourceBinding", plural: "clusterresourcebindings", clusterScoped: true}
	works            = resource{group: "work.karmada.io", version: "v1alpha1", kind: "Work", plural: "works"}
	clusters         = resource{group: "cluster.karmada.io", version: "v1alpha1", kind: "Cluster", plural: "clusters", clusterScoped: true}
)

func (r resource) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.group, Version: r.version, Resource: r.plural}
}

func (r resource) apiVersion() string {
	return schema.GroupVersion{Group: r.group, Version: r.version}.String()
}

// thing is an object as a user writes it. Its methods return changed copies.
type thing struct {
	resource
	body map[string]any
}

func newThing(r resource, namespace, name string) thing {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return thing{r, map[string]any{"apiVersion": r.apiVersion(), "kind": r.kind, "metadata": meta}}
}

// with is the thing with the value at the path, whose steps are separated by
// dots; a nil value takes the field away.
func (o thing) with(path string, value any) thing {
	o.body = runtime.DeepCopyJSON(o.body)
	steps := strings.Split(path, ".")
	if value == nil {
		unstructured.RemoveNestedField(o.body, steps...)
		return o
	}
	if err := unstructured.SetNestedField(o.body, value, steps...); err != nil {
		panic(err) // the test is wrong
	}
	return o
}

// mark is the thing with one more entry in a map of metadata, whose keys may
// hold dots.
func (o thing) mark(field, key, value string) thing {
	o.body = runtime.DeepCopyJSON(o.body)
	if err := unstructured.SetNestedField(o.body, value, "metadata", field, key); err != nil {
		panic(err)
	}
	return o
}

func (o thing) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(o.body)}
}

func (o thing) name() string      { return text(o.body, "metadata.name") }
func (o thing) namespace() string { return text(o.body, "metadata.namespace") }
func (o thing) key() string       { return o.namespace() + "/" + o.name() }
func (o thing) String() string    { return o.kind + " " + strings.TrimPrefix(o.key(), "/") }
func (o thing) itself() thing     { return o }

// applied is whatever is made of a thing: a policy, a template.
type applied interface{ itself() thing }

// at is the value at a path of steps separated by dots; nil: there is none.
func at(obj map[string]any, path string) any {
	v, _, err := unstructured.NestedFieldNoCopy(obj, strings.Split(path, ".")...)
	if err != nil {
		return nil
	}
	return v
}

func text(obj map[string]any, path string) string {
	s, _ := at(obj, path).(string)
	return s
}

func number(obj map[string]any, path string) int64 {
	switch n := at(obj, path).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func truth(obj map[string]any, path string) bool {
	b, _ := at(obj, path).(bool)
	return b
}

// items are the maps of a list.
func items(obj map[string]any, path string) []map[string]any {
	raw, _ := at(obj, path).([]any)
	var out []map[string]any
	for _, v := range raw {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// list makes a JSON list of strings.
func list(values ...string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
