// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusterresourceoverrides,scope=Cluster,categories={fleet,fleet-placement,sluice}
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name max length is 63"

// ClusterResourceOverride changes placed objects without a namespace, and what
// is in a placed Namespace, on the way to members.
type ClusterResourceOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is changed, and how.
	// +required
	Spec ClusterResourceOverrideSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ClusterResourceOverrideList is a list of ClusterResourceOverride.
type ClusterResourceOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the overrides, in no promised order.
	Items []ClusterResourceOverride `json:"items"`
}

// ClusterResourceOverrideSpec is what is changed, and how.
//
// +kubebuilder:validation:XValidation:rule="has(oldSelf.placement) == has(self.placement) && (!has(self.placement) || self.placement == oldSelf.placement)",message="the placement field is immutable",fieldPath=".placement"
// +kubebuilder:validation:XValidation:rule="!has(self.placement) || !has(self.placement.scope) || self.placement.scope == 'Cluster'",message="placement scope must be Cluster",fieldPath=".placement"
type ClusterResourceOverrideSpec struct {
	// Placement whose objects are changed. Nil means any, at its next rollout.
	// +optional
	Placement *PlacementRef `json:"placement,omitempty"`

	// ClusterResourceSelectors choose objects by name, each once. 1 to 20.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.labelSelector) && has(s.name) && size(s.name) > 0)",message="only selecting by name is supported"
	ClusterResourceSelectors []ClusterResourceSelector `json:"clusterResourceSelectors"`

	// Policy is how they are changed.
	// +required
	Policy *OverridePolicy `json:"policy"`
}

// PlacementRef names a placement.
type PlacementRef struct {
	// Name of the placement.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Scope of the placement. The only one that is served is Cluster.
	// +optional
	// +kubebuilder:default=Cluster
	// +kubebuilder:validation:Enum=Cluster;Namespaced
	Scope ResourceScope `json:"scope,omitempty"`
}

// ResourceScope is the scope of a placement.
type ResourceScope string

// The scopes.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// OverridePolicy is how objects are changed.
type OverridePolicy struct {
	// OverrideRules are applied one after the other. 1 to 20.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	OverrideRules []OverrideRule `json:"overrideRules"`
}

// OverrideRule is a change for some members.
//
// +kubebuilder:validation:XValidation:rule="self.overrideType != 'Delete' || !has(self.jsonPatchOverrides) || size(self.jsonPatchOverrides) == 0",message="jsonPatchOverrides cannot be set when the override type is Delete",fieldPath=".jsonPatchOverrides"
// +kubebuilder:validation:XValidation:rule="self.overrideType != 'JSONPatch' || (has(self.jsonPatchOverrides) && size(self.jsonPatchOverrides) > 0)",message="jsonPatchOverrides cannot be empty when the override type is JSONPatch",fieldPath=".jsonPatchOverrides"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterSelector) || self.clusterSelector.clusterSelectorTerms.all(t, has(t.labelSelector) && !has(t.propertySelector) && !has(t.propertySorter))",message="only labelSelector is supported",fieldPath=".clusterSelector"
type OverrideRule struct {
	// ClusterSelector chooses the members by label. Nil means none; without
	// terms, all.
	// +optional
	ClusterSelector *ClusterSelector `json:"clusterSelector,omitempty"`

	// OverrideType is JSONPatch or Delete (the member does not get the object).
	// Default JSONPatch.
	// +optional
	// +kubebuilder:default=JSONPatch
	// +kubebuilder:validation:Enum=JSONPatch;Delete
	OverrideType OverrideType `json:"overrideType,omitempty"`

	// JSONPatchOverrides are applied one after the other. 1 to 20, only with
	// JSONPatch.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	JSONPatchOverrides []JSONPatchOverride `json:"jsonPatchOverrides,omitempty"`
}

// OverrideType is what a rule does.
type OverrideType string

// The types.
const (
	JSONPatchOverrideType OverrideType = "JSONPatch"
	DeleteOverrideType    OverrideType = "Delete"
)

// JSONPatchOverride is an operation of JSON patch (RFC 6902).
//
// +kubebuilder:validation:XValidation:rule="self.path != '/kind' && !self.path.startsWith('/kind/') && self.path != '/apiVersion' && !self.path.startsWith('/apiVersion/')",message="cannot override typeMeta fields",fieldPath=".path"
// +kubebuilder:validation:XValidation:rule="self.path != '/status' && !self.path.startsWith('/status/')",message="cannot override status fields",fieldPath=".path"
// +kubebuilder:validation:XValidation:rule="self.path != '/metadata' && (!self.path.startsWith('/metadata/') || self.path == '/metadata/labels' || self.path.startsWith('/metadata/labels/') || self.path == '/metadata/annotations' || self.path.startsWith('/metadata/annotations/'))",message="cannot override metadata fields except annotations and labels",fieldPath=".path"
// +kubebuilder:validation:XValidation:rule="!self.path.contains('//') && !self.path.endsWith('/')",message="path cannot contain empty segments",fieldPath=".path"
type JSONPatchOverride struct {
	// Operator is add, remove or replace.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator JSONPatchOverrideOperator `json:"op"`

	// Path of the field as a JSON pointer (RFC 6901).
	// +required
	// +kubebuilder:validation:Pattern="^/.*"
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`

	// Value is any JSON, in which VariableClusterName stands for the member's
	// name, and VariableClusterLabelPrefix with a key and a closing brace for
	// the value of its label. Not with remove.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// JSONPatchOverrideOperator is an operator of JSON patch.
type JSONPatchOverrideOperator string

// The operators.
const (
	JSONPatchOverrideOpAdd     JSONPatchOverrideOperator = "add"
	JSONPatchOverrideOpRemove  JSONPatchOverrideOperator = "remove"
	JSONPatchOverrideOpReplace JSONPatchOverrideOperator = "replace"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=resourceoverrides,scope=Namespaced,categories={fleet,fleet-placement,sluice}
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name max length is 63"

// ResourceOverride changes placed objects of its own namespace on the way to
// members. It is applied after the ClusterResourceOverrides.
type ResourceOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is changed, and how.
	// +required
	Spec ResourceOverrideSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ResourceOverrideList is a list of ResourceOverride.
type ResourceOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the overrides, in no promised order.
	Items []ResourceOverride `json:"items"`
}

// ResourceOverrideSpec is what is changed, and how.
//
// +kubebuilder:validation:XValidation:rule="has(oldSelf.placement) == has(self.placement) && (!has(self.placement) || self.placement == oldSelf.placement)",message="the placement field is immutable",fieldPath=".placement"
type ResourceOverrideSpec struct {
	// Placement whose objects are changed. Nil means any, at its next rollout.
	// +optional
	Placement *PlacementRef `json:"placement,omitempty"`

	// ResourceSelectors choose objects by name, each once. 1 to 20.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	ResourceSelectors []ResourceSelector `json:"resourceSelectors"`

	// Policy is how they are changed.
	// +required
	Policy *OverridePolicy `json:"policy"`
}

// ResourceSelector names an object in the override's namespace.
type ResourceSelector struct {
	// Group of the kind. Empty is the core group.
	// +required
	Group string `json:"group"`

	// Version of the object's API.
	// +required
	Version string `json:"version"`

	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusterresourceoverridesnapshots,scope=Cluster,categories={fleet,fleet-placement,sluice}

// ClusterResourceOverrideSnapshot is a ClusterResourceOverride as it was. Its
// name is OVERRIDE-INDEX.
type ClusterResourceOverrideSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the override. It never changes, which the webhook sees to.
	// +required
	Spec ClusterResourceOverrideSnapshotSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ClusterResourceOverrideSnapshotList is a list of
// ClusterResourceOverrideSnapshot.
type ClusterResourceOverrideSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the snapshots, in no promised order.
	Items []ClusterResourceOverrideSnapshot `json:"items"`
}

// ClusterResourceOverrideSnapshotSpec is an override as it was.
type ClusterResourceOverrideSnapshotSpec struct {
	// OverrideSpec is the override.
	// +required
	OverrideSpec ClusterResourceOverrideSpec `json:"overrideSpec"`

	// OverrideHash is the SHA-256 hash of OverrideSpec.
	// +required
	OverrideHash []byte `json:"overrideHash"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=resourceoverridesnapshots,scope=Namespaced,categories={fleet,fleet-placement,sluice}

// ResourceOverrideSnapshot is a ResourceOverride as it was. Its name is
// OVERRIDE-INDEX.
type ResourceOverrideSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the override. It never changes, which the webhook sees to.
	// +required
	Spec ResourceOverrideSnapshotSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ResourceOverrideSnapshotList is a list of ResourceOverrideSnapshot.
type ResourceOverrideSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the snapshots, in no promised order.
	Items []ResourceOverrideSnapshot `json:"items"`
}

// ResourceOverrideSnapshotSpec is an override as it was.
type ResourceOverrideSnapshotSpec struct {
	// OverrideSpec is the override.
	// +required
	OverrideSpec ResourceOverrideSpec `json:"overrideSpec"`

	// OverrideHash is the SHA-256 hash of OverrideSpec.
	// +required
	OverrideHash []byte `json:"overrideHash"`
}
