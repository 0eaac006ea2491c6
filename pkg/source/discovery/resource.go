// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Resource is where an API server serves a kind.
type Resource struct {
	schema.GroupVersionKind
	Plural     string
	Namespaced bool
	// Status says that there is a subresource for it.
	Status bool
	// Lists says that it can be listed.
	Lists bool
}

// prefix is where a group and version is served.
func prefix(gv schema.GroupVersion) []string {
	if gv.Group == "" {
		return []string{"/api", gv.Version}
	}
	return []string{"/apis", gv.Group, gv.Version}
}

// Path of a collection, of an object, or of a subresource of an object.
func (r Resource) Path(name types.NamespacedName, subresource ...string) []string {
	p := prefix(r.GroupVersion())
	if r.Namespaced && name.Namespace != "" {
		p = append(p, "namespaces", name.Namespace)
	}
	p = append(p, r.Plural)
	if name.Name != "" {
		p = append(p, name.Name)
	}
	return append(p, subresource...)
}

// GVR is the name under which it is served.
func (r Resource) GVR() schema.GroupVersionResource { return r.GroupVersion().WithResource(r.Plural) }

// TypeMeta says what an object is.
func (r Resource) TypeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: r.GroupVersion().String(), Kind: r.Kind}
}
