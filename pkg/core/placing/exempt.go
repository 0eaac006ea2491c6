// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

// ExemptNamespace returns why nothing in the namespace is ever placed; empty if it may
// be.
func ExemptNamespace(name string) string { return matching.Exempt(NamespaceKey(name)) }

// ExemptKind reports whether objects of the kind are never placed: those that are never
// templates of policies, but for three that people create, too, and some more.
func ExemptKind(gk schema.GroupKind) bool {
	switch gk.Group {
	case "networking.fleet.azure.com", "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io":
		return true
	}
	return exemptKinds[gk.Group+"/"+gk.Kind] ||
		gk != endpointSlices && gk != endpoints && gk != revisions &&
			matching.Exempt(propagation.TemplateKey{APIVersion: schema.GroupVersion{Group: gk.Group, Version: "v1"}.String(), Kind: gk.Kind}) != ""
}

var exemptKinds = map[string]bool{
	"/Pod": true, "coordination.k8s.io/LeaseCandidate": true, "certificates.k8s.io/CertificateSigningRequest": true,
}

// Kinds whose objects are mostly created by controllers, but by people too.
var (
	endpoints      = schema.GroupKind{Kind: "Endpoints"}
	endpointSlices = schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
	revisions      = schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}
)

// madeByControllers are kinds whose objects are not placed if a controller owns them:
// each cluster creates its own from the owner.
var madeByControllers = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "ReplicaSet"}: true, revisions: true, {Group: "batch", Kind: "Job"}: true,
	endpoints: true, endpointSlices: true,
}

// Exempt returns why an object is never placed, whatever selects it; empty if it may
// be. hasService says whether the object's namespace has a Service of its name; it
// matters only for Endpoints (NeedsService).
func Exempt(key propagation.TemplateKey, obj map[string]any, hasService bool) string {
	gk := key.GroupVersionKind().GroupKind()
	meta, _ := obj["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	switch {
	case ExemptKind(gk):
		return "kind " + gk.Kind + " belongs to the cluster it is in"
	case key.Namespace != "" && ExemptNamespace(key.Namespace) != "":
		return ExemptNamespace(key.Namespace)
	case gk == namespaces && ExemptNamespace(key.Name) != "":
		return ExemptNamespace(key.Name)
	case gk == schema.GroupKind{Kind: "Secret"} && obj["type"] == "kubernetes.io/service-account-token":
		return "each cluster makes tokens of its own"
	case gk == endpoints && hasService,
		gk == endpointSlices && labels["endpointslice.kubernetes.io/managed-by"] != nil:
		return "each cluster knows the endpoints of its own Services"
	case madeByControllers[gk] && owned(meta):
		return "each cluster makes its own from the owner"
	case labels[propagation.LabelBinding] != nil:
		return "it is frozen content"
	}
	return matching.Bootstrapped(key, obj)
}

// NeedsService reports whether Exempt has to know about a Service of the object's name.
func NeedsService(key propagation.TemplateKey) bool {
	return key.GroupVersionKind().GroupKind() == endpoints
}

// owned reports whether a controller owns the object.
func owned(meta map[string]any) bool {
	refs, _ := meta["ownerReferences"].([]any)
	for _, r := range refs {
		if ref, _ := r.(map[string]any); ref["controller"] == true {
			return true
		}
	}
	return false
}

// Leaving reports whether the object is being deleted, so that it counts as gone.
func Leaving(obj map[string]any) bool {
	meta, _ := obj["metadata"].(map[string]any)
	return meta["deletionTimestamp"] != nil
}

var namespaces = schema.GroupKind{Kind: "Namespace"}

// IsNamespace reports whether the key names a Namespace.
func IsNamespace(key propagation.TemplateKey) bool {
	return key.GroupVersionKind().GroupKind() == namespaces
}

// NamespaceKey returns the key of a Namespace.
func NamespaceKey(name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name}
}
