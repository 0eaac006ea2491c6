// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/apis/keys"
)

// The keys are part of the event contract, so they are declared in apis/keys,
// which other programs may import.
type (
	// Scope says whether an object lives in a namespace or in the whole cluster.
	Scope = keys.Scope
	// TemplateKey names a template on the hub.
	TemplateKey = keys.TemplateKey
	// PolicyKey names a policy of either scope.
	PolicyKey = keys.PolicyKey
	// BindingKey names a binding.
	BindingKey = keys.BindingKey
	// Form says which of the two Work APIs a Work is written in.
	Form = keys.Form
	// WorkKey names the Work of one member for one binding, or for one part of a
	// placement.
	WorkKey = keys.WorkKey
)

// The two scopes of policies, bindings and templates.
const (
	Namespaced = keys.Namespaced
	Cluster    = keys.Cluster
)

// The two forms of a Work.
const (
	PolicyForm    = keys.PolicyForm
	PlacementForm = keys.PlacementForm
)

var (
	// Scopes lists both scopes, for tables and loops that serve either.
	Scopes = keys.Scopes
	// Forms lists both forms, for tables and loops that serve either.
	Forms = keys.Forms
)

// ScopeOf is keys.ScopeOf.
func ScopeOf(namespace string) Scope { return keys.ScopeOf(namespace) }

// KeyOf is keys.KeyOf.
func KeyOf(obj map[string]any) TemplateKey { return keys.KeyOf(obj) }

// ParsePolicyID is keys.ParsePolicyID.
func ParsePolicyID(id string) (PolicyKey, error) { return keys.ParsePolicyID(id) }

// BindingOf is keys.BindingOf.
func BindingOf(k TemplateKey) BindingKey { return keys.BindingOf(k) }

// TemplatesOf is keys.TemplatesOf.
func TemplatesOf(b BindingKey, kinds []schema.GroupVersionKind) []TemplateKey {
	return keys.TemplatesOf(b, kinds)
}

// BindingLabel is keys.BindingLabel.
func BindingLabel(k BindingKey) string { return keys.BindingLabel(k) }

// FormerRevisionName is keys.FormerRevisionName.
func FormerRevisionName(k BindingKey, contentHash string) string {
	return keys.FormerRevisionName(k, contentHash)
}

// RevisionName is keys.RevisionName.
func RevisionName(k BindingKey, contentHash string) string { return keys.RevisionName(k, contentHash) }

// PolicyRevisionName is keys.PolicyRevisionName.
func PolicyRevisionName(k PolicyKey, uid types.UID, specHash string) string {
	return keys.PolicyRevisionName(k, uid, specHash)
}

// WorkName is keys.WorkName.
func WorkName(k BindingKey) string { return keys.WorkName(k) }

// FormerWorkName is keys.FormerWorkName.
func FormerWorkName(k BindingKey) string { return keys.FormerWorkName(k) }

// WorkNames is keys.WorkNames.
func WorkNames(k BindingKey) []string { return keys.WorkNames(k) }

// WorkNamespace is keys.WorkNamespace.
func WorkNamespace(cluster string) string { return keys.WorkNamespace(cluster) }

// ClusterOfWorkNamespace is keys.ClusterOfWorkNamespace.
func ClusterOfWorkNamespace(namespace string) (string, bool) {
	return keys.ClusterOfWorkNamespace(namespace)
}
