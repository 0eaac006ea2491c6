// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind that is served.
type kind struct {
	schema.GroupVersionKind
	resource   string
	namespaced bool
	// status: it has the subresource.
	status bool
	// generation: the API server counts the changes of what it asks for.
	generation bool
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.resource}
}

// kinds are all that are served. Pods and nodes are there to be listed.
var kinds = []*kind{
	{gvk("", "v1", "Namespace"), "namespaces", false, true, false},
	{gvk("", "v1", "Node"), "nodes", false, true, false},
	{gvk("", "v1", "Pod"), "pods", true, true, false},
	{gvk("", "v1", "ConfigMap"), "configmaps", true, false, false},
	{gvk("", "v1", "Secret"), "secrets", true, false, false},
	{gvk("", "v1", "Service"), "services", true, true, false},
	{gvk("", "v1", "ServiceAccount"), "serviceaccounts", true, false, false},
	{gvk("apps", "v1", "Deployment"), "deployments", true, true, true},
	{gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), "horizontalpodautoscalers", true, true, false},
	{gvk("rbac.authorization.k8s.io", "v1", "ClusterRole"), "clusterroles", false, false, false},
	{gvk("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"), "clusterrolebindings", false, false, false},
}

func gvk(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

var verbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// target is what a path names.
type target struct {
	*kind
	namespace, name, sub string
}

func (t target) key() string { return t.namespace + "/" + t.name }

// parse reads the path of a resource; false: nobody serves it.
func parse(path string) (target, bool) {
	p := strings.Split(strings.Trim(path, "/"), "/")
	var group, version string
	switch {
	case p[0] == "api" && len(p) > 2:
		version, p = p[1], p[2:]
	case p[0] == "apis" && len(p) > 3:
		group, version, p = p[1], p[2], p[3:]
	default:
		return target{}, false
	}
	t := target{}
	if p[0] == "namespaces" && len(p) > 2 && p[2] != "status" && p[2] != "finalize" {
		t.namespace, p = p[1], p[2:]
	}
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.Group == group && k.Version == version && k.resource == p[0] })
	if i < 0 || len(p) > 3 {
		return t, false
	}
	t.kind = kinds[i]
	if len(p) > 1 {
		t.name = p[1]
	}
	if len(p) > 2 {
		t.sub = p[2]
	}
	known := t.sub == "" || t.sub == "status" && t.status
	inPlace := t.namespaced == (t.namespace != "") || t.namespaced && t.name == ""
	return t, known && inPlace
}
